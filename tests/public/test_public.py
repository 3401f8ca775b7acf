"""The public names: how many there are, that each works and has types, and that those of 0.5.0 still work."""

import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tagwright as tw
import tagwright.cluster
import tagwright.torch

SCRIPT = Path(__file__).with_name("script.py")
SOURCE = Path(tw.__file__).parents[1]

# What `tagwright` of version 0.5.0 exported.
OLD = [
    "CRF", "HMM", "MEMM", "AStar", "Agreement", "Auto", "Beam", "Bidirectional", "BidirectionalModel", "CarpeDiem",
    "DataError", "Decoder", "DecoderRow", "Decoding", "Edges", "Evaluation", "Features", "IterativeAStar",
    "IterativeViterbiAStar", "Keep", "KeepDivergence", "KeepRatio", "KeepSize", "Lattice", "Marginals", "Model",
    "ModelError", "Path", "Perceptron", "Staggered", "Tagging", "TemplateError", "Tree", "Viterbi", "ViterbiAStar",
    "Work", "__version__", "decode", "decode_batch", "decoders", "dual_decomposition", "evaluate", "load", "marginals",
    "marginals_batch", "paths", "read", "score",
]  # fmt: skip
GONE = sorted({*OLD} - {*tw.__all__})


def test_few_names_are_public():
    assert len(tw.__all__) <= 45
    assert dir(tw) == sorted(tw.__all__)
    assert all(getattr(tw, name) is not None for name in tw.__all__)


@pytest.mark.parametrize("module", [tw, tagwright.torch, tagwright.cluster], ids=lambda module: module.__name__)
def test_the_script_uses_every_public_name(module):
    short = "tw" if module is tw else module.__name__
    used = {*re.findall(rf"(?<![\w.]){re.escape(short)}\.(\w+)", SCRIPT.read_text(encoding="utf-8"))}
    assert {*module.__all__} <= used


def test_the_script_runs():
    done = subprocess.run([sys.executable, "-W", "error", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("all names work\n")


def run_checker(*command):
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, env=os.environ | CHECKED
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Where the package is installed, the checkers find it.
CHECKED = {} if SOURCE.name == "site-packages" else {"MYPYPATH": str(SOURCE), "PYTHONPATH": str(SOURCE)}


@pytest.mark.slow
def test_the_types_of_the_script_are_right_by_mypy(tmp_path):
    pytest.importorskip("mypy")
    config = tmp_path / "mypy.ini"
    # PyTorch is large, and NumPy's own types are all that is needed beside ours.
    config.write_text(
        "[mypy]\nstrict = True\n[mypy-torch.*]\nfollow_imports = skip\n[mypy-tagwright.*]\nignore_errors = True\n"
        "disallow_subclassing_any = False\n"
    )
    run_checker("mypy", "--config-file", config, "--cache-dir", tmp_path / "cache", SCRIPT)


@pytest.mark.slow
def test_the_types_of_the_script_are_right_by_pyright():
    pytest.importorskip("pyright")
    run_checker("pyright", "--pythonpath", sys.executable, SCRIPT)


@pytest.mark.parametrize("name", GONE)
def test_a_name_of_0_5_0_works_and_names_its_successor(name):
    with pytest.warns(DeprecationWarning, match=rf"tagwright\.{name} is deprecated: use ") as caught:
        value = getattr(tw, name)
    assert name not in dir(tw)
    assert value.__name__ == name
    successor = str(caught[0].message).rpartition("use ")[2]
    if successor.startswith("decoder="):
        decoder = successor.partition("=")[2].strip("'")
        assert tw.decode([[0.0, 1.0]], [[0.0, 0.0]] * 2, decoder=value()).paths[0].labels.tolist() == [1]
        assert value.name == decoder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            assert pickle.loads(pickle.dumps(value())) == value()
    else:
        module, _, attribute = successor.rpartition(".")
        assert getattr(sys.modules[module], attribute) is value


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="'tagwright' has no attribute 'decoed'"):
        _ = tw.decoed
