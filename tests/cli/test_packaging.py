"""The package's metadata: what is imported is declared, and what is declared is imported."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = {"torch", "serve", "cluster", "reports", "examples"}
"""Folders that need an extra."""
MODULES = {"scikit-learn": "sklearn"}


def imported():
    """The packages that the source imports, without those of extras."""
    found = set()
    for path in (ROOT / "src" / "tagwright").rglob("*.py"):
        if path.relative_to(ROOT / "src" / "tagwright").parts[0] in EXTRAS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - {*sys.stdlib_module_names, "tagwright"}


def test_dependencies_are_those_that_are_imported():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    declared = {re.match(r"[\w-]+", entry)[0] for entry in project["dependencies"]}
    needed = imported() - {"matplotlib", "torch", "pandas", "IPython"}  # extras, or what a caller has loaded already
    assert {MODULES.get(name, name) for name in declared} == needed
