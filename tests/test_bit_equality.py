"""Answers are the same bits with every instruction set and C library."""

import os
import subprocess
import sys

import pytest
from support import answers

NO_FMA = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"
SENTENCES = 100
LIBRARY = "import math; print(hash(tuple(math.exp(n / 7) + math.log(1 + n / 3) for n in range(2000))))"


def run(*arguments, **variables):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.fixture(scope="module")
def expected():
    return answers.lines(SENTENCES, with_trained=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [{"TAGWRIGHT_SIMD": "base"}, {"GLIBC_TUNABLES": NO_FMA}, {"TAGWRIGHT_SIMD": "base", "GLIBC_TUNABLES": NO_FMA}],
    ids=["base", "no FMA", "neither"],
)
def test_labels_scores_and_probabilities_do_not_depend_on_the_cpu(expected, variables):
    if "GLIBC_TUNABLES" in variables and run("-c", LIBRARY, **variables) == run("-c", LIBRARY):
        pytest.skip("not applicable: exp and log of this C library do not depend on the CPU")
    assert run(answers.__file__, "--sentences", SENTENCES, "--train", **variables) == expected


def test_answers_have_labels_scores_and_probabilities(expected):
    kinds = {line.split(": ")[1].split()[0] for line in expected}
    assert kinds == {"labels", "scores", "probabilities", "marginals", "samples"}
    assert len({line.split()[0] for line in expected}) >= 5
    assert answers.lines(SENTENCES - 1)[0] != expected[0]
