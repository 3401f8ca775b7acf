# tagwright serve, built from this folder: docker build -t tagwright .
# Arguments of `docker run` are options of `tagwright serve`; without any, the included English model is served.
FROM python:3.12-bookworm AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]" && rm -r /wheels \
    && useradd --system --uid 10001 --no-create-home tagwright
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
ENTRYPOINT ["tagwright", "serve", "--host", "0.0.0.0", "--port", "8000"]
