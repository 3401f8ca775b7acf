"""The rooms: which may know which, how large a file may be, and what starting costs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.sizes import cpp_sizes, python_sizes

import tagwright as tw

ROOT = Path(__file__).resolve().parents[1]
CPP, PACKAGE = ROOT / "cpp", ROOT / "src" / "tagwright"

# Each room of the core and those it may include, itself aside.
CORE = {"base": set()}
CORE["kernels"] = {"base"}
CORE["lattice"] = CORE["kernels"] | {"kernels"}
CORE["sums"] = CORE["lattice"] | {"lattice"}
CORE["decode"] = CORE["sums"] | {"sums"}
CORE["features"] = CORE["decode"] | {"decode"}
CORE["model"] = CORE["features"] | {"features"}
CORE["train"] = CORE["model"] | {"model"}
CORE["python"] = CORE["train"] | {"train"}
CORE["capi"] = CORE["model"] | {"model"}

# The same for the package, where files beside the rooms are rooms of their own. What every room may import:
COMMON = {
    "_core",
    "cached",
    "checks",
    "elementary",
    "label_parts",
    "markup",
    "table",
    "schemes",
    "system",
    "__version__",
}
ROOMS = {"constraints": set(), "data": set()}
ROOMS["decoding"] = {"constraints"}
ROOMS["features"] = {"data"}
ROOMS["evaluation"] = {"data"}
ROOMS["models"] = {"constraints", "decoding", "data", "features"}
ROOMS["learners"] = ROOMS["models"] | {"models", "evaluation"}
ROOMS["reports"] = ROOMS["models"] | {"models", "evaluation"}
ROOMS["serve"] = ROOMS["models"] | {"models"}
ROOMS["cluster"] = ROOMS["learners"] | {"learners"}
ROOMS["torch"] = {"constraints", "decoding"}
ROOMS["compat"] = ROOMS["learners"] | {"learners"}
ROOMS["cli"] = ROOMS["learners"] | {"learners", "reports", "serve", "cluster", *tw.__all__}
EXEMPT = {"__init__", "__main__"}  # the front doors


def files(folder, *endings):
    return sorted(path for path in folder.rglob("*") if path.suffix in endings)


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", files(CPP, ".h", ".cpp", ".inc"), ids=name_of)
def test_includes_lead_to_earlier_rooms(path):
    room = path.relative_to(CPP).parts[0]
    for included in re.findall(r'^#include "(.*)"', path.read_text(encoding="utf-8"), flags=re.M):
        beside = (path.parent / included).resolve()
        target = beside if beside.exists() else CPP / included
        assert target.exists(), included
        assert target.relative_to(CPP).parts[0] in CORE[room] | {room}, included


def imported(path):
    """Names of tagwright's own modules that a module imports anywhere, but for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", files(PACKAGE, ".py"), ids=name_of)
def test_imports_lead_to_earlier_rooms(path):
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if room in EXEMPT:
        return
    allowed = COMMON | {room} | ROOMS.get(room, set())
    for name in imported(path):
        first, *rest = name.split(".")
        assert first != "tagwright" or (rest and rest[0] in allowed), name


def test_every_room_has_its_rule():
    assert {path.name for path in CPP.iterdir()} == set(CORE)
    assert {
        path.name
        for path in PACKAGE.iterdir()
        if path.is_dir() and not path.is_symlink() and path.name != "__pycache__"
    } == set(ROOMS)


# Names that exceed the limits below, and may not grow. Whoever simplifies one removes it here.
LONG: dict[str, int] = {}
OTHERS_INTERFACE = {"src/tagwright/compat/sklearn_crfsuite/estimator.py"}  # its constructor is sklearn-crfsuite's
MANY_MEMBERS = {"MemmSearch": 39, "NgramSums": 23}


def test_functions_and_classes_of_the_core_are_small():
    for path in files(CPP, ".h", ".cpp"):
        functions, classes = cpp_sizes(path.read_text(encoding="utf-8"))
        for own in functions:
            assert own.lines <= LONG.get(own.name, 80), f"{name_of(path)}: {own}"
            assert own.parameters <= 8, f"{name_of(path)}: {own}"
        for kind in classes:
            assert kind.members <= MANY_MEMBERS.get(kind.name, 18), f"{name_of(path)}: {kind}"


# An expression that asks edges, a lattice or factors which kind they are; for n-grams, a condition on whether there are
# any. Lines that use what an earlier one found are not counted.
KIND_OF_EDGES = re.compile(
    r"[.>](?:sparse|steps|is_uniform|repeats|patched|is_float|has_float_steps|is_listed)\(|[.>]dense\b"
    r"|(?:if \(|&& |\|\| |return |= )!?[^*\s]*\bngrams(?:\(\)|_)(?=\)| \?| &&| \|\|)"
)
MOST_KINDS = 15


def test_few_places_outside_the_lattice_depend_on_the_kind_of_edges():
    """Decoders, sums and trainers use the interface of edges; each exception has its reason above it."""
    found = []
    for path in files(CPP, ".h", ".cpp"):
        if path.relative_to(CPP).parts[0] == "lattice":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if KIND_OF_EDGES.search(line.partition("//")[0]):
                assert lines[number - 1].lstrip().startswith("// Edge kind: "), (
                    f"{name_of(path)}:{number + 1}: no reason"
                )
                found.append(f"{name_of(path)}:{number + 1}")
    assert len(found) <= MOST_KINDS, "\n".join(found)


def test_functions_of_the_package_are_small():
    for path in files(PACKAGE, ".py"):
        for own in python_sizes(path.read_text(encoding="utf-8")):
            assert own.lines <= 100, f"{name_of(path)}: {own}"
            assert own.parameters <= 13 or name_of(path) in OTHERS_INTERFACE, f"{name_of(path)}: {own}"


def test_no_test_module_imports_another():
    for path in files(ROOT / "tests", ".py"):
        for name in imported(path):
            assert not name.startswith("test_"), f"{name_of(path)} imports {name}"
            assert ".test_" not in name, f"{name_of(path)} imports {name}"


def test_every_header_of_the_core_is_guarded():
    for path in files(CPP, ".h"):
        assert "\n#pragma once\n" in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    "code",
    [
        "import tagwright",
        "import tagwright as tw; tw.decode([[0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]); tw.marginals([[0.0]], [[0.0]])",
        "import tagwright as tw; tw.load, tw.Model, tw.read, tw.evaluate, tw.Features, tw.Model",
    ],
    ids=["import", "decode", "models"],
)
def test_starting_imports_neither_scikit_learn_nor_scipy_nor_torch(code):
    code += (
        "; import sys; print(sorted({name.partition('.')[0] for name in sys.modules} & {'sklearn', 'scipy', 'torch'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
