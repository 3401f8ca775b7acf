"""The files for containers and systemd: what they copy exists, and what they run are options of the command."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from support.servers import served

from tagwright.cli.serve import serve

ROOT = Path(__file__).parents[2]
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text("utf-8"))
COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")
OPTIONS = {option for parameter in serve.params for option in parameter.opts}


def listed(pattern, text):
    """A list in the form of JSON."""
    return json.loads(re.search(rf"^\s*{pattern}\s*(\[.*\])", text, flags=re.M)[1])


def options_of(arguments):
    return {one for one in arguments if re.fullmatch(r"--?[a-z-]+", one)}


def test_what_is_copied_exists():
    copies = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, flags=re.M)
    assert copies
    assert all((ROOT / source).exists() for line in copies for source in shlex.split(line)[:-1])
    for stage, _ in re.findall(r"^COPY --from=(\S+) (.*)$", DOCKERFILE, flags=re.M):
        assert re.search(rf"^FROM \S+ AS {stage}$", DOCKERFILE, flags=re.M)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert not {"src", "cpp", "tools", "pyproject.toml", "CMakeLists.txt", "README.md"} & set(ignored)


def test_commands_are_those_of_the_server():
    entry = listed("ENTRYPOINT", DOCKERFILE)
    assert entry[:2] == ["tagwright", "serve"]
    unit = (ROOT / "docs" / "howto" / "deploy.md").read_text("utf-8")
    started = shlex.split(re.search(r"^ExecStart=(.*)$", unit, flags=re.M)[1])
    run = re.findall(r"^docker run .* tagwright( .*)?$", unit, flags=re.M)
    for arguments in (entry[2:], listed("command:", COMPOSE), started[2:], *map(shlex.split, run)):
        assert options_of(arguments) <= OPTIONS - {"--set"}
    assert f"EXPOSE {entry[entry.index('--port') + 1]}" in DOCKERFILE


def test_health_checks_tell_whether_the_server_is_ready():
    container, compose = listed(r"HEALTHCHECK .*CMD", DOCKERFILE), listed("test:", COMPOSE)
    assert compose == ["CMD", *container]
    with served() as server:
        check = [sys.executable, *(part.replace("8000", str(server.port)) for part in container[1:])]
        assert subprocess.run(check, check=False, timeout=60).returncode == 0
    assert subprocess.run(check, check=False, timeout=60, stderr=subprocess.DEVNULL).returncode != 0


def test_files_of_the_compose_example_are_documented():
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text("utf-8")
    mounted, secret = listed("volumes:", COMPOSE)[0], re.search(r"file: \./(\S+)", COMPOSE)[1]
    assert mounted.split(":")[0].removeprefix("./") + "/pos.safetensors" in page
    assert f"> {secret}" in page
    assert f"/run/secrets/{listed('secrets:', COMPOSE)[0]}" in listed("command:", COMPOSE)
