"""Commands run in this process, and what they print."""

import re

from click.testing import CliRunner

from tagwright.cli import main

PROGRESS = re.compile(
    r"((left|right): )?"
    r"((epoch|iteration) +\d+.*(error|objective) .* s +[0-9,]+ tokens/s(  dev +[0-9.]+%)?"
    r"|(converged|stopped).* after \d+ iterations: objective .*"
    r"|margin=[\d.]+, parts=.*: accuracy .* on held-out sentences"
    r"|calibration: a training that leaves out [\d,]+ of [\d,]+ sentences)"
)
"""A line that `train` writes to standard error while it works."""


def run(*arguments, given=None):
    return CliRunner().invoke(main, list(map(str, arguments)), input=given)


def complaints(command, said):
    """The lines on standard error that do not report the progress of a training."""
    lines = said.splitlines()
    return [line for line in lines if not PROGRESS.fullmatch(line)] if command == "train" else lines


def printed(*arguments, given=None):
    """What a command prints, once it is clear that it went well."""
    result = run(*arguments, given=given)
    assert (result.exit_code, complaints(*arguments[:1] or [""], result.stderr)) == (0, []), result.output
    return result.stdout


def stopped(*arguments):
    """The same of a training that --max-iterations ends before it has converged, which it warns of."""
    result = run(*arguments)
    said = complaints("train", result.stderr)
    assert result.exit_code == 0, result.output
    assert said
    assert all(re.match(r"Warning: (CRF|MEMM|left|right): stopped after \d+ iterations, before", line) for line in said)
    return result.stdout


def columns(X, y, separator="\t"):
    sentences = zip(X, y, strict=True)
    return "".join(
        "".join(f"{word}{separator}{label}\n" for word, label in zip(*sentence, strict=True)) + "\n"
        for sentence in sentences
    )


def complaint(*arguments, given=None):
    """The one line that a command complains with."""
    result = run(*arguments, given=given)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    return result.stderr.removeprefix("Error: ").rstrip("\n")
