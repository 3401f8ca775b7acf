"""The commands of README and docs run in a fresh clone as they are written, and print what the pages show."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page for page in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]) if "_build" not in page.parts]
NOT_RUN = {"make test", "make bench", "make bench-quick"}  # this very test; hours of measuring
CHECK = doctest.OutputChecker()


def commands(page):
    """Each command of a page, in order, with what it is shown to print (None where nothing is shown)."""
    for kind, block in re.findall(r"^```(sh|console)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S):
        if kind == "sh":
            yield from ((line, None) for line in block.splitlines())
            continue
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = piece.partition("\n")
            yield command, output or None


def without_comment(command):
    return command.partition(" #")[0].strip()


WITH_COMMANDS = [page for page in PAGES if any(without_comment(one) not in NOT_RUN for one, _ in commands(page))]


@pytest.fixture
def clone(tmp_path):
    """The files that a clone of this state would have. Building again would take minutes: .venv is the one in use."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode or not Path(sys.prefix, "bin", "activate").exists():
        pytest.skip("needs a git checkout, and a virtual environment that tagwright is installed in")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def outputs(folder, lines):
    """What each command prints, its messages, and its exit code, in one shell that starts with nothing set up."""
    # The .venv of the clone is not its own: make takes it as up to date.
    script = 'set -o pipefail\nmake() { command make -o .venv/.installed "$@"; }\n' + "".join(
        f"printf '\\1'; {{ {line}\n}} 2>.messages; printf '\\2%s\\2' $?; cat .messages; printf '\\3'\n"
        for line in lines
    )
    # MAKEFLAGS and MAKELEVEL of a make that runs the tests would let this one print its folders, too.
    of_this_run = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "MAKE", "MFLAGS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(of_this_run)}
    environment["PATH"] = os.pathsep.join(
        p for p in environment["PATH"].split(os.pathsep) if not p.startswith(sys.prefix)
    )
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    found = re.findall("\x01([^\x01-\x03]*)\x02(\\d+)\x02([^\x01-\x03]*)\x03", ran.stdout)
    assert len(found) == len(lines), ran.stdout + ran.stderr
    return [(text, messages, int(code)) for text, code, messages in found]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_run_in_a_fresh_clone(page, clone):
    pairs = [(line, shown) for line, shown in commands(page) if without_comment(line) not in NOT_RUN]
    # The shell of a reader of the docs has found tagwright already; README says how.
    ready = [] if page.name == "README.md" else [". .venv/bin/activate"]
    said = outputs(clone, [*ready, *(line for line, _ in pairs)])[len(ready) :]
    wrong = []
    for (line, shown), (text, messages, code) in zip(pairs, said, strict=True):
        # A page shows what is printed, or that after the messages.
        right = shown is None or any(
            CHECK.check_output(shown, own, doctest.ELLIPSIS) for own in (text, messages + text)
        )
        if not right or code != (2 if shown and shown.startswith("Error: ") else 0):
            wrong.append(f"$ {line}\n{messages}{text}exit code {code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_demo_ends_with_the_next_commands(clone):
    for demo in ("make demo", ".venv/bin/tagwright demo --train"):
        ((text, messages, code),) = outputs(clone, [demo])
        assert code == 0, messages
        *_, following = text.partition("\nNext:\n")
        ending = [line for line in following.splitlines() if not line.endswith(" serve")]  # a server does not end
        assert len(ending) >= 2
        assert {code for _, _, code in outputs(clone, ending)} == {0}
