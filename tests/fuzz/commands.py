"""Commands with any arguments: they end with 0, or with 2 and one line that says why."""

import subprocess
import sys

from support.commands import run


def command(draw, *arguments, given=b"", process=False):
    """Run a command in this process, or in one of its own; returns whether it succeeded."""
    arguments = list(map(str, arguments))
    draw.note("command", arguments)
    draw.note("standard input", given)
    if process:
        done = subprocess.run(
            [sys.executable, "-m", "tagwright", *arguments], input=given, capture_output=True, check=False, timeout=300
        )
        code, said = done.returncode, done.stderr.decode("utf-8", "replace")
    else:
        done = run(*arguments, given=given)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise RuntimeError("an error escaped from the command line") from done.exception
        code, said = done.exit_code, done.stderr
    draw.note("said", said)
    assert code in (0, 2), f"exit code {code}: {said}"
    assert "Traceback" not in said, said
    assert code == 0 or said.rstrip("\n").rpartition("\n")[2].startswith("Error: "), said
    return code == 0
