"""Completion in shells: the scripts for bash, zsh and fish, and what they ask for and get."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

import tagwright as tw
from tagwright.cli.main import main
from tagwright.features.presets import PRESETS
from tagwright.learners import LEARNERS

SHELLS = ["bash", "zsh", "fish"]


def request(instruction, **variables):
    environment = {**variables, "_TAGWRIGHT_COMPLETE": instruction}
    done = CliRunner().invoke(main, [], env=environment, prog_name="tagwright")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def offered(shell, *words):
    """What a shell is offered for the last of some words, without descriptions."""
    at = words[-1] if shell == "fish" else str(len(words) - 1)
    said = request(f"{shell}_complete", COMP_WORDS=" ".join(words), COMP_CWORD=at).splitlines()
    if shell == "zsh":
        return [value for kind, value in zip(said[::3], said[1::3], strict=True) if kind == "plain"]
    return [line.removeprefix("plain,").split("\t")[0] for line in said if line.startswith("plain,")]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_calls_back(shell):
    script = request(f"{shell}_source")
    assert f"_TAGWRIGHT_COMPLETE={shell}_complete" in script
    assert "tagwright" in script.replace("_tagwright", "").replace("_TAGWRIGHT", "")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tagwright", "t"], ["tag", "train", "tune"]),
        (["tagwright", "train", "--warm"], ["--warm-start"]),
        (["tagwright", "train", "--learner", "crf", "--set", "max_"], ["max_iterations="]),
        (["tagwright", "train", "--learner", ""], list(LEARNERS)),
        (["tagwright", "train", "--features", ""], list(PRESETS)),
        (["tagwright", "tag", "--decoder", "iter"], ["iterative_astar", "iterative_viterbi_astar"]),
        (["tagwright", "eval", "--decoder", ""], [row.name for row in tw.decoders()]),
        (["tagwright", "tag", "--proba", ""], ["label", "all"]),
        (["tagwright", "tag", "--proba", "all", "--j"], ["--json"]),
    ],
    ids=lambda value: " ".join(value[1:]) if value[0] == "tagwright" else "",
)
def test_commands_options_and_values_are_completed(shell, words, expected):
    assert sorted(offered(shell, *words)) == sorted(expected)


def test_bash_itself(tmp_path):
    program = tmp_path / "tagwright"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tagwright "$@"\n')
    program.chmod(0o755)
    ask = 'COMP_WORDS=(tagwright tr); COMP_CWORD=1; _tagwright_completion "$0"; echo "${COMPREPLY[@]}"'
    script = request("bash_source") + "\n" + ask
    done = subprocess.run(["bash", "-c", script, program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("train\n", "")
