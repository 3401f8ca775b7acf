"""The check before a release finds what does not belong together."""

import importlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHANGES = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2030-01-02\n\n- One.\n\n## [1.1.0] - 2029-01-02\n\n- Old.\n"
FILES = {
    "pyproject.toml": '[project]\nname = "tagwright"\nversion = "1.2.0"\n',
    "src/tagwright/__init__.py": '__version__ = "1.2.0"\n',
    "cpp/core.cpp": "int one;\n",
    "CITATION.cff": "version: 1.2.0\ndate-released: 2030-01-02\n",
    "CMakeLists.txt": "project(tagwright VERSION 1.2.0 LANGUAGES NONE)\n",
    "wasm/package.json": '{\n  "version": "1.2.0",\n}\n',
    "CHANGELOG.md": CHANGES,
    "docs/figures/speed.png": "picture",
    ".gitignore": "dist\n_build\n",
}


@pytest.fixture
def check(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    yield importlib.import_module("release_check")
    sys.modules.pop("release_check")


def git(root, *arguments):
    named = ["-c", "user.name=A", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *named, *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(root, name, content):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def page(commit):
    return f"![speed](figures/speed.png)\n\n| commit | {commit} |\n| tagwright | 1.2.0, avx2 kernels |\n"


@pytest.fixture
def ready(tmp_path):
    """A tree in which everything belongs together."""
    for name, content in FILES.items():
        write(tmp_path, name, content)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "code")
    write(tmp_path, "docs/benchmarks.md", page(git(tmp_path, "rev-parse", "--short", "HEAD")))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "figures")
    write(tmp_path, "docs/_build/html/index.html", "<title>tagwright 1.2.0</title>")
    (tmp_path / "dist").mkdir()
    with tarfile.open(tmp_path / "dist" / "tagwright-1.2.0.tar.gz", "w:gz") as archive:
        for name in ("cpp/core.cpp", "src/tagwright/__init__.py", "pyproject.toml"):
            content = FILES[name].encode()
            member = tarfile.TarInfo(f"tagwright-1.2.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    for python in ("cp311-cp311", "cp312-abi3"):
        for machine in ("x86_64", "aarch64"):
            tag = f"{python}-manylinux2014_{machine}.manylinux_2_17_{machine}"
            with zipfile.ZipFile(tmp_path / "dist" / f"tagwright-1.2.0-{tag}.whl", "w") as wheel:
                wheel.writestr("tagwright-1.2.0.dist-info/METADATA", "Name: tagwright\nVersion: 1.2.0\n\nText\n")
    return tmp_path


def problems(check, root):
    return [problem for one in check.CHECKS for problem in one(root)]


def test_a_complete_release_has_no_problem(check, ready):
    assert problems(check, ready) == []


def committed(root, name, content):
    write(root, name, content)
    git(root, "commit", "-qam", "change")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("CITATION.cff", "version: 1.1.0\ndate-released: 2030-01-02\n", "CITATION.cff: version 1.1.0"),
        ("CITATION.cff", "version: 1.2.0\ndate-released: 2029-01-02\n", "date-released is not 2030-01-02"),
        ("wasm/package.json", "{}\n", "wasm/package.json: version not found"),
        ("CHANGELOG.md", CHANGES.replace("[Unreleased]", "[Unreleased]\n\n- More."), "there are unreleased changes"),
        ("CHANGELOG.md", CHANGES.replace("1.2.0", "1.3.0"), "the first version is '[1.3.0] - 2030-01-02'"),
        ("CHANGELOG.md", CHANGES.replace("- One.", "- One.\n" * 90), "92 lines for 1.2.0; at most 80"),
        ("CHANGELOG.md", "# Changelog\n", "the first version is ''"),
        ("docs/benchmarks.md", page("0123456, 89abcde"), "measured on 0123456, 89abcde; it must be one"),
        ("docs/benchmarks.md", page("0123456"), "measured on 0123456; it must be one"),
        ("docs/benchmarks.md", page("HEAD+"), "measured on HEAD+; it must be one"),
        ("docs/benchmarks.md", page("HEAD").replace("1.2.0", "1.1.0"), "measured with tagwright 1.1.0"),
        ("docs/benchmarks.md", page("HEAD").replace("speed.png", "lost.png"), "docs/figures/lost.png is missing"),
        ("cpp/core.cpp", "int two;\n", "changed since then: cpp/core.cpp"),
        ("cpp/core.cpp", "int two;\n", "cpp/core.cpp is not that of the working tree"),
    ],
)
def test_what_does_not_belong_together_is_found(check, ready, name, content, problem):
    committed(ready, name, content)
    found = problems(check, ready)
    assert any(problem in one for one in found), found


def test_missing_and_foreign_packages_are_found(check, ready):
    dist = ready / "dist"
    next(dist.glob("*cp312*aarch64.whl")).unlink()
    foreign = next(dist.glob("*cp311*x86_64.whl"))
    with zipfile.ZipFile(foreign, "w") as wheel:
        wheel.writestr("tagwright-1.1.0.dist-info/METADATA", "Version: 1.1.0\n")
    assert list(check.packages(ready)) == [
        f"dist/{foreign.name}: its metadata name another version",
        "dist/: no wheel of 1.2.0 for cp312-abi3 on manylinux2014_aarch64: make wheels",
    ]
    (dist / "tagwright-1.2.0.tar.gz").write_bytes(b"")
    (dist / "tagwright-1.2.0.tar.gz").unlink()
    assert "dist/tagwright-1.2.0.tar.gz is missing: make wheels" in list(check.packages(ready))


def test_uncommitted_changes_and_another_tag_are_found(check, ready):
    git(ready, "tag", "v1.2.0", "HEAD~1")
    assert list(check.repository(ready)) == ["git: v1.2.0 is another commit"]
    git(ready, "tag", "-f", "v1.2.0", "HEAD")
    assert list(check.repository(ready)) == []
    write(ready, "cpp/core.cpp", "int three;\n")
    assert list(check.repository(ready)) == ["git: there are changes that are not committed"]


def test_documentation_that_was_not_built_is_found(check, ready):
    (ready / "docs" / "_build" / "html" / "index.html").unlink()
    assert list(check.documentation(ready)) == ["docs/_build/html: not built, or not for 1.2.0: make docs"]
