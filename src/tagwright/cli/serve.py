"""`tagwright serve`: models over HTTP, and a page to look at labellings."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import click

from tagwright.cli.logging import show_log
from tagwright.cli.options import COUNT, threads_option
from tagwright.serve.gate import LOOPBACK_NAMES, is_loopback
from tagwright.serve.settings import Settings
from tagwright.system import open_log

TOKEN = "TAGWRIGHT_TOKEN"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,}=*")  # of RFC 6750, and not too easy to guess
_log = logging.getLogger("tagwright.serve")
_NEEDS = ("starlette", "uvicorn", "httptools", "prometheus_client")


class Limit(NamedTuple):
    """A setting of `serve --set`."""

    field: str
    """Its name in `Settings`."""
    kind: Any
    """A type of click, which checks it."""
    help: str
    scale: float = 1.0
    """Its unit, in that of `Settings`."""

    @property
    def default(self) -> int:
        """That of `Settings`, in the unit of the option."""
        default: float = getattr(Settings, self.field)
        return round(default / self.scale)


LIMITS = {
    "batch": Limit("batch", COUNT, "requests per batch"),
    "wait": Limit("wait", click.FloatRange(0, 10_000), "milliseconds that a request waits for others", 1e-3),
    "queue": Limit("queue", COUNT, "waiting requests; more get status 503"),
    "max_body": Limit("body", COUNT, "bytes of a request"),
    "max_tokens": Limit("tokens", COUNT, "tokens of a request"),
    "max_k": Limit("k", COUNT, "labellings per sentence"),
    "timeout": Limit("timeout", click.FloatRange(0.1), "seconds for a request"),
}


def _limits(settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the limits for `Settings`."""
    values = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if name not in LIMITS:
            raise click.ClickException(f"--set {setting}: write NAME=VALUE, where NAME is {', '.join(LIMITS)}")
        limit = LIMITS[name]
        try:
            value = limit.kind.convert(text, None, None)
        except click.BadParameter as error:
            raise click.ClickException(f"--set {name}={text}: {error.message}") from None
        values[limit.field] = value * limit.scale if limit.scale != 1 else value
    return values


_LIMITS_TEXT = ", ".join(f"{name}={limit.default} ({limit.help})" for name, limit in LIMITS.items())


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
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name in the header Host that is answered, may be repeated; '*': any. On a loopback address, only its own "
    "names are answered by default, so that no web page can reach the server by a name of its own.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    help=f"File with bearer tokens, one per line; requests need one of them. {TOKEN} in the environment sets one, too.",
)
@click.option(
    "--access-log",
    metavar="FILE",
    help="Append a line of JSON per request to this file; '-': to standard output.",
)
@threads_option
@click.option("--workers", type=COUNT, default=1, help="Processes that answer; they share large models.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"Set a limit; may be repeated: {_LIMITS_TEXT}.",
)
@click.option(
    "--export",
    type=click.Path(file_okay=False),
    help="Write the page as static files to this folder instead of serving it; needs --runtime.",
)
@click.option(
    "--runtime",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the npm package tagwright-wasm, which an exported page uses.",
)
@click.option("--quiet", is_flag=True, help="Print only warnings.")
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    threads: int,
    workers: int,
    settings: tuple[str, ...],
    **others: Any,
) -> None:
    """Serve models over HTTP: a JSON API under /v1, metrics, and a web page that shows labellings and lattices.

    The server listens on this machine only unless --host is given. On Ctrl-C or SIGTERM it answers the requests it has
    received and exits. It reloads a model on SIGHUP and when its file changes. Needs pip install 'tagwright[serve]'.

    \b
    Example:
      tagwright serve
      tagwright serve -m pos.safetensors -m chunks=chunk.safetensors --port 8080 --threads 2
    """
    if missing := [name for name in _NEEDS if importlib.util.find_spec(name) is None]:
        raise click.ClickException(f"{missing[0]} is not installed; pip install 'tagwright[serve]' installs it")
    from tagwright.serve.server import listening
    from tagwright.serve.server import serve as run

    named = tuple(map(_named, models)) or (("english", None),)
    for _, path in named:
        if path is not None:
            Path(path).open("rb").close()  # an error here is one of the command, not of a worker
    secrets = _secrets(others["token_file"])
    limits = Settings(
        named, threads, **_limits(settings), secrets=secrets, access_log=others["access_log"],
        hosts=_hosts(host, others["hosts"]),
    )  # fmt: skip
    if others["export"] is not None:
        _export(limits, others["export"], others["runtime"])
        return
    if limits.access_log is not None:
        open_log(limits.access_log).close()  # an error here is one of the command, not of a worker
    listener = listening(host, port)
    address = f"[{host}]" if ":" in host else host
    quiet = others["quiet"]
    with show_log(quiet, verbose=False):
        logging.getLogger("tagwright").setLevel(logging.WARNING if quiet else logging.INFO)
        if message := _exposure(host, bool(secrets)):
            _log.warning(message)
        if not quiet:
            click.echo(f"http://{address}:{listener.getsockname()[1]}/  (Ctrl-C ends it)", err=True)
        run(limits, listener, workers)


def _secrets(path: str | None) -> tuple[str, ...]:
    """Return the bearer tokens of a file and of the environment."""
    lines = [] if path is None else Path(path).read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in (*lines, os.environ.get(TOKEN, "")) if line.strip()]
    where = TOKEN if path is None else path
    if path is not None and not any(map(str.strip, lines)):
        raise click.ClickException(f"{path}: there is no token; write one per line")
    if any(not _TOKEN.fullmatch(token) for token in found):
        raise click.ClickException(f"{where}: a token consists of at least 16 of A-Z a-z 0-9 - . _ ~ + / and =")
    return tuple(found)


def _exposure(host: str, has_token: bool) -> str | None:
    """Return a warning about an address that other machines can reach."""
    if is_loopback(host):
        return None
    lack = "no encryption" if has_token else "neither a token (see --token-file) nor encryption"
    return f"{host}: every machine that reaches this address can send requests; there is {lack}"


def _hosts(host: str, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names in the header Host that are answered; None: any."""
    if "*" in names or not (names or is_loopback(host)):
        return None
    return (*names, host, *LOOPBACK_NAMES)


def _export(settings: Settings, folder: str, runtime: str | None) -> None:
    """Write the page as static files."""
    from tagwright.serve.export import export_page

    if runtime is None:
        raise click.ClickException("--export needs --runtime, the folder of the npm package tagwright-wasm (make wasm)")
    try:
        names = export_page(settings, folder, runtime)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{folder}: {len(names)} files; serve them with any web server", err=True)


def _named(text: str) -> tuple[str, str]:
    """Return the name and the file of a model."""
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        name, path = Path(text).name.removesuffix(".safetensors"), text
    return name, path
