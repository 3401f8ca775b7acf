"""`tagwright serve`: models over HTTP, and a page to look at labellings."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

import click

from tagwright.cli.logging import show_log
from tagwright.cli.options import COUNT, threads_option

__all__ = ["serve"]

_NEEDS = ("starlette", "uvicorn", "httptools", "prometheus_client")


@click.command()
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Model file, may be repeated; its name is the file's unless given. By default the included English one.",
)
@click.option("--host", default="127.0.0.1", help="Address to listen on; others than this one are open to the network.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0: any that is free.")
@threads_option
@click.option("--workers", type=COUNT, default=1, help="Processes that answer; they share large models.")
@click.option("--batch", type=COUNT, default=64, help="Requests per batch, at most; 1: none are batched.")
@click.option("--wait", type=click.FloatRange(0, 10_000), default=0.0, help="Milliseconds a request waits for others.")
@click.option("--queue", type=COUNT, default=1024, help="Requests that may wait; more get 503 and may retry.")
@click.option("--max-body", "body", type=COUNT, default=1_000_000, help="Bytes of a request.")
@click.option("--max-tokens", "tokens", type=COUNT, default=10_000, help="Tokens of a request.")
@click.option("--max-k", "k", type=COUNT, default=100, help="Labellings per sentence.")
@click.option("--timeout", type=click.FloatRange(0.1), default=10.0, help="Seconds until a request times out.")
@click.option("--quiet", is_flag=True, help="Print only warnings.")
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    threads: int,
    workers: int,
    batch: int,
    wait: float,
    queue: int,
    body: int,
    tokens: int,
    k: int,
    timeout: float,
    quiet: bool,
) -> None:
    """Serve models over HTTP: JSON under /v1, metrics, and a page to look at labellings, lattices and reasons.

    It listens on this machine only, unless --host is given. Ctrl-C or SIGTERM answer what has come in and end
    it; SIGHUP, or another file in a model's place, opens the model again. It needs pip install 'tagwright[serve]'.

    \b
    Example:
      tagwright serve
      tagwright serve -m pos.safetensors -m chunks=chunk.safetensors --port 8080 --threads 2
    """
    if missing := [name for name in _NEEDS if importlib.util.find_spec(name) is None]:
        raise click.ClickException(f"{missing[0]} is not installed; pip install 'tagwright[serve]' installs it")
    from tagwright.serve.server import listening
    from tagwright.serve.server import serve as run
    from tagwright.serve.settings import Settings

    named = tuple(map(_named, models)) or (("english", None),)
    for _, path in named:
        if path is not None:
            Path(path).open("rb").close()  # an error here is one of the command, not of a worker
    settings = Settings(named, threads, batch, wait / 1e3, queue, body, tokens, k, timeout)
    listener = listening(host, port)
    address = f"[{host}]" if ":" in host else host
    with show_log(quiet, verbose=False):
        logging.getLogger("tagwright").setLevel(logging.WARNING if quiet else logging.INFO)
        if not quiet:
            click.echo(f"http://{address}:{listener.getsockname()[1]}/  (Ctrl-C ends it)", err=True)
        run(settings, listener, workers)


def _named(text: str) -> tuple[str, str]:
    """Return the name and the file of a model."""
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        name, path = Path(text).name.removesuffix(".safetensors"), text
    return name, path
