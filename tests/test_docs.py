"""The code in README, docs and docstrings runs, and the pages say what the table of decoders says."""

import doctest
import importlib.util
import os
import pkgutil
import re
from pathlib import Path

import pytest

import tagwright as tw

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
# PyTorch is an extra; what needs it is left out where it is missing, but never in CI.
WITHOUT = {"torch"} if importlib.util.find_spec("torch") is None and not os.environ.get("CI") else set()
PAGES = [page for page in PAGES if "_build" not in page.parts and page.stem not in WITHOUT]


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    namespace = {"__name__": "page"}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


NOT_READ = {"tagwright._core", "tagwright.__main__"}  # compiled; a program
MODULES = {"tagwright", *(found.name for found in pkgutil.walk_packages(tw.__path__, "tagwright."))} - NOT_READ
MODULES = sorted(name for name in MODULES if not {*name.split(".")} & WITHOUT)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried == Path(module.__file__).read_text(encoding="utf-8").count(">>> ")


def test_docstrings_of_every_module_are_checked():
    source = ROOT / "src"
    parts = (path.relative_to(source).with_suffix("").parts for path in source.rglob("*.py"))
    found = {".".join(own).removesuffix(".__init__") for own in parts if not {*own} & WITHOUT}
    assert found - NOT_READ == set(MODULES)


def test_every_decoder_has_a_page():
    for row in tw.decoders():
        page = (ROOT / "docs" / "decoders" / f"{row.name}.md").read_text(encoding="utf-8")
        for part in ("Idea", "Paper", "Exactness", "Cost", "When to use it"):
            assert part in page, f"{row.name}: {part}"


def test_decoder_table_is_up_to_date():
    text = (ROOT / "docs" / "decoders" / "index.md").read_text(encoding="utf-8")
    for row in tw.decoders():
        line = next((line for line in text.splitlines() if re.match(rf"\|[^|]*\b{row.name}\b", line)), "")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        said = (row.exact, row.kbest, row.ngrams, row.deadline)
        facts = [row.paper, row.maximises, *("yes" if fact else "no" for fact in said)]
        options = ", ".join(f"`{option.name}={option.default!r}`" for option in row.options)
        assert cells[1:] == [*facts, options], row.name


def test_pages_of_decoders_show_their_options():
    for row in tw.decoders():
        page = (ROOT / "docs" / "decoders" / f"{row.name}.md").read_text(encoding="utf-8")
        for option in row.options:
            default = f'"{option.default}"' if isinstance(option.default, str) else repr(option.default)
            assert re.search(rf"^\| `{option.name}` \| `?{re.escape(default)}`? \|", page, flags=re.M), option
        assert row.options or "It has no option" in page


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\.\. auto(?:function|class|exception):: (?:tagwright\.)?(\w+)$", text, flags=re.M))
    assert {name for name in tw.__all__ if not name.startswith("_")} <= listed


def test_every_page_is_in_one_table_of_contents():
    docs, entries = ROOT / "docs", []
    for page in docs.rglob("*.md"):
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            entries += [(page.parent / f"{name}.md").resolve() for name in names]
    pages = {page.resolve() for page in docs.rglob("*.md") if "_build" not in page.parts}
    assert sorted(entries) == sorted(pages - {docs / "index.md"})
