"""A server whose handler does nothing: what the framework itself takes. `python -m benchmarks.frame.nothing PORT`."""

import sys

ANSWER = b'{"model":"english","sentences":[{"labels":["DT","NN","WDT","PRP","VBD","VBD","PRP","RB","."],"score":1.0}]}'


def main():
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    async def nothing(request):
        await request.body()
        return Response(ANSWER, media_type="application/json")

    app = Starlette(routes=[Route("/v1/tag", nothing, methods=["POST"])])
    options = {"log_level": "error", "access_log": False, "server_header": False, "proxy_headers": False}
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), ws="none", backlog=2048, **options)


if __name__ == "__main__":
    main()
