"""The table of options: docstrings, the page of options and the estimators agree with it."""

import importlib.util
import inspect
from pathlib import Path

import pytest

import tagwright as tw
from tagwright.learners import LEARNERS
from tagwright.learners.options import SOLVERS, learner_class, options_of

ROOT = Path(__file__).resolve().parents[2]
OWNERS = [*map(learner_class, LEARNERS), *SOLVERS.values()]


def test_the_page_of_options_is_current():
    spec = importlib.util.spec_from_file_location("option_tables", ROOT / "tools" / "option_tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page(), "run: python tools/option_tables.py"


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_docstrings_list_every_parameter_with_its_default(owner):
    parameters = list(inspect.signature(owner).parameters)
    assert parameters == list(options_of(owner))
    written = inspect.getdoc(owner)
    assert "{parameters}" not in written
    for name, option in options_of(owner).items():
        assert f"\n{name} : {option.kind}, default={option.default!r}\n    " in written


def test_help_of_an_option_is_written_once():
    text = inspect.getsource(tw.CRF) + inspect.getsource(tw.Perceptron)
    assert "characters that separate the parts" not in text
