"""What the package says of itself: version, dependencies, and a README that a package index can show."""

import importlib
import re
import sys
import tomllib
from pathlib import Path

import tagwright as tw

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def found(pattern, name):
    return re.search(pattern, (ROOT / name).read_text("utf-8"), flags=re.M)[1]


def test_all_files_name_one_version():
    versions = {
        PROJECT["version"],
        tw.__version__,
        found(r"^version: (\S+)", "CITATION.cff"),
        found(r"^project\(tagwright VERSION (\S+)", "CMakeLists.txt"),
    }
    assert len(versions) == 1


def test_the_package_imports_each_of_its_dependencies():
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    for requirement in PROJECT["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0].replace("scikit-learn", "sklearn")
        assert re.search(rf"^\s*(import|from) {name}\b", sources, flags=re.M), name


def test_the_readme_of_the_package_has_no_links_into_the_repository(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    made = importlib.import_module("package_readme").dynamic_metadata("readme", {})
    sys.modules.pop("package_readme")
    links = re.findall(r"\]\(([^)]*)\)", made["text"])
    assert all(link.startswith(("https://", "#")) for link in links), links
    assert "table (`docs/coming_from.md`)" in made["text"]
