"""Tests of applications run only on request, as `make test-apps` does."""

import pytest


def pytest_collection_modifyitems(config, items):
    if config.getoption("markexpr") == "apps":
        return
    skip = pytest.mark.skip(reason="not applicable: needs applications of python-crfsuite; make test-apps runs it")
    for item in items:
        if "apps" in item.keywords:
            item.add_marker(skip)
