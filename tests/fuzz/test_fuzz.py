"""The driver sees what it is there to see, names the input, and draws the same inputs again."""

import os
import re
import subprocess
import sys

import pytest

from tests.fuzz import TESTS, __main__
from tests.fuzz.worker import TARGETS

TARGET = """
import ctypes, time

EXPECTED = (ValueError,)

def attempt(draw):
    number = draw.note("number", draw.number)
    {}
    return True
"""
AT_5 = {
    "crash": "if number == 5: ctypes.string_at(0)",
    "hang": "while number == 5: time.sleep(0.01)",
    "traceback": "if number == 5: {}['absent']",
    "wrong": "assert number != 5",
    "memory": "if number == 5: bytearray(1 << 40)",
    "refused": "if number == 5: raise ValueError('expected')",
}


def counts(table):
    """The numbers of the last row of a printed table, by the names of the columns."""
    lines = [re.split(r"  +", line.strip()) for line in table.strip().splitlines()]
    return dict(zip(lines[0][1:], (int(number.replace(",", "")) for number in lines[-1][1:]), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("what", AT_5)
def test_what_is_detected(what, tmp_path, monkeypatch, capsys):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "target.py").write_text(TARGET.format(AT_5[what]), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    cases = tmp_path / "cases"
    limits = ["--seconds", "2", "--jobs", "1", "--patience", "2"]
    code = __main__.main(["bad.target", *limits, "--cases", str(cases)])
    found = counts(capsys.readouterr().out)
    columns = {"crash": "crashes", "hang": "hangs", "traceback": "tracebacks"}
    assert {name: found[columns.get(name, name)] for name in AT_5} == {name: int(name == what) for name in AT_5}
    assert found["inputs"] >= 6
    if what == "refused":
        assert code == 0
        assert not cases.exists()
        return
    assert code == 1
    (case,) = cases.iterdir()
    assert case.name == "bad.target-0-5.txt"
    written = case.read_text(encoding="utf-8")
    assert written.startswith(f"{what}: python -m tests.fuzz bad.target --input 0:5\nthe same alone\n")
    assert "number = 5" in written


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_an_input_is_the_same_every_time(target):
    def written(seed):
        command = [sys.executable, "-m", "tests.fuzz", target, "--input", f"{seed}:3"]
        fixed = {**os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, cwd=TESTS.parent, env=fixed, capture_output=True, text=True, check=False)
        return re.sub(r"0x[0-9a-f]+|(?<=call = )\S+", "", done.stdout)  # addresses and measured memory

    first = written(7)
    assert first == written(7)
    # Inputs of `memory` are the functions of a table, in order.
    assert (first == written(8)) == (target == "memory")


def test_wrong_use(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["nothing"])
    assert f"no target nothing; there are {', '.join(TARGETS)}" in capsys.readouterr().err
