"""The command line, run as a user would."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import tagwright as tw
from tagwright.cli import main


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_demo():
    result = run("demo", "--labels", "300", "--tokens", "7", "-k", "3")
    assert result.exit_code == 0
    assert "yes, all 3 of 3" in result.output
    lines = result.output.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("decoder"))
    assert lines[at].split() == ["decoder", "ms", "speed-up", "rounds", "nodes/token", "edges/token"]
    assert len({len(line) for line in lines[at : at + 4]}) == 1


def test_demo_of_a_long_sentence():
    result = run("demo", "--labels", "100", "--tokens", "300")
    assert result.exit_code == 0
    assert "10^600 paths" in result.output


def test_demo_is_repeatable():
    def paths(output):
        return [line for line in output.splitlines() if line[:1].isdigit()]

    first, again = (run("demo", "--labels", "200", "--seed", "4").output for _ in range(2))
    assert paths(first) == paths(again) != []
    assert paths(first) != paths(run("demo", "--labels", "200", "--seed", "5").output)


def test_decoders():
    result = run("decoders")
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.output.splitlines()[2:]]
    assert names == [row.name for row in tw.decoders()]


@pytest.mark.parametrize("arguments", [["demo", "-k", "0"], ["demo", "--labels", "x"], ["dmeo"]])
def test_wrong_use(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.output


def test_version_and_start():
    ran = subprocess.run(
        [sys.executable, "-c", "import tagwright, sys; print(tagwright.__version__, 'scipy' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [tw.__version__, "False"]
    with open(Path(__file__).parents[1] / "pyproject.toml", "rb") as file:
        assert tomllib.load(file)["project"]["version"] == tw.__version__
    assert tw.__version__ in run("--version").output
