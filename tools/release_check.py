"""Check that version, changelog, wheels, sdist, documentation and figures of a release belong together.

    python tools/release_check.py

It reads what is there and builds nothing: `make wheels` and `make docs` come first. Every problem is a line, and the
exit code is 1 if there is one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = {
    "pyproject.toml": r'^version = "(\S+)"',
    "src/tagwright/__init__.py": r'^__version__ = "(\S+)"',
    "CITATION.cff": r"^version: (\S+)",
    "CMakeLists.txt": r"^project\(tagwright VERSION (\S+)",
    "wasm/package.json": r'^  "version": "(\S+)"',
}
"""Where the version is written, and the pattern that finds it."""
TARGETS = ("manylinux2014_x86_64", "manylinux2014_aarch64")
PYTHONS = ("cp311-cp311", "cp312-abi3")
LONGEST_CHANGES = 80  # lines of a version in the changelog
LARGEST_SDIST = 5_000_000  # bytes
MEASURED = ("cpp", "src")
"""Folders that decide the figures."""


def text(root: Path, name: str) -> str:
    """Return the text of a file; nothing where there is none."""
    path = root / name
    return path.read_text("utf-8") if path.exists() else ""


def git(root: Path, *arguments: str) -> str | None:
    """Return what git prints; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def version_of(root: Path) -> str:
    """Return the version of the package."""
    found = re.search(VERSIONS["pyproject.toml"], text(root, "pyproject.toml"), re.M)
    return found[1] if found else ""


def versions(root: Path) -> Iterator[str]:
    """All files name one version."""
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, text(root, name), re.M)
        if not found or found[1] != version_of(root):
            yield f"{name}: version {found[1] if found else 'not found'}, but pyproject.toml has {version_of(root)}"


def changelog(root: Path) -> Iterator[str]:
    """The changelog begins with the version and its date, which the citation repeats, and is not too long."""
    sections = re.split(r"^## ", text(root, "CHANGELOG.md"), flags=re.M)[1:]
    unreleased = sections.pop(0) if sections and sections[0].startswith("[Unreleased]") else ""
    if unreleased.removeprefix("[Unreleased]").strip():
        yield "CHANGELOG.md: there are unreleased changes"
    head = sections[0].partition("\n")[0] if sections else ""
    found = re.fullmatch(r"\[(\S+)\] - (\d{4}-\d\d-\d\d)", head)
    if not found or found[1] != version_of(root):
        yield f"CHANGELOG.md: the first version is {head!r}, not [{version_of(root)}] - DATE"
        return
    lines = len(sections[0].strip().splitlines())
    if lines > LONGEST_CHANGES:
        yield f"CHANGELOG.md: {lines} lines for {found[1]}; at most {LONGEST_CHANGES}"
    if not re.search(rf"^date-released: {found[2]}$", text(root, "CITATION.cff"), re.M):
        yield f"CITATION.cff: date-released is not {found[2]}, as in the changelog"


def figures(root: Path) -> Iterator[str]:
    """All benchmarks were run with this version, on one commit, and the code has not changed since."""
    page = text(root, "docs/benchmarks.md")
    row = dict(re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", page, re.M))
    if not row.get("tagwright", "").startswith(f"{version_of(root)},"):
        yield f"docs/benchmarks.md: measured with tagwright {row.get('tagwright', '(not said)')}"
    commits = row.get("commit", "").split(", ")
    if len(commits) != 1 or commits[0].endswith("+") or git(root, "cat-file", "-e", f"{commits[0]}^{{commit}}") is None:
        yield f"docs/benchmarks.md: measured on {', '.join(commits) or 'no commit'}; it must be one, without changes"
    elif changed := git(root, "diff", "--name-only", commits[0], "HEAD", "--", *MEASURED):
        yield f"docs/benchmarks.md: measured on {commits[0]}; changed since then: {', '.join(changed.splitlines()[:3])}"
    for name in re.findall(r"\]\((figures/[^)]*)\)", page):
        if not (root / "docs" / name).exists():
            yield f"docs/benchmarks.md: docs/{name} is missing"


def packages(root: Path) -> Iterator[str]:
    """The source distribution and the wheels of all targets are those of this version and of this commit."""
    version, dist = version_of(root), root / "dist"
    sdist = dist / f"tagwright-{version}.tar.gz"
    if not sdist.exists():
        yield f"dist/{sdist.name} is missing: make wheels"
    else:
        if sdist.stat().st_size > LARGEST_SDIST:
            yield f"dist/{sdist.name}: {sdist.stat().st_size:,} bytes; at most {LARGEST_SDIST:,}"
        yield from differences(root, sdist, version)
    for python in PYTHONS:
        for target in TARGETS:
            found = [path for path in dist.glob(f"tagwright-{version}-{python}-*.whl") if target in path.name]
            if not found:
                yield f"dist/: no wheel of {version} for {python} on {target}: make wheels"
            for path in found:
                with zipfile.ZipFile(path) as wheel:
                    names = wheel.namelist()
                    own = f"tagwright-{version}.dist-info/METADATA"
                    if own not in names or f"\nVersion: {version}\n" not in wheel.read(own).decode():
                        yield f"dist/{path.name}: its metadata name another version"


def differences(root: Path, sdist: Path, version: str) -> Iterator[str]:
    """Sources in the distribution are those of the working tree."""
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = member.name.removeprefix(f"tagwright-{version}/")
            if not member.isfile() or not name.startswith(MEASURED):
                continue
            content, own = archive.extractfile(member), root / name
            if content is None or not own.is_file() or own.read_bytes() != content.read():
                yield f"dist/{sdist.name}: {name} is not that of the working tree: make wheels"
                return


def documentation(root: Path) -> Iterator[str]:
    """The documentation was built for this version."""
    if version_of(root) not in text(root, "docs/_build/html/index.html"):
        yield f"docs/_build/html: not built, or not for {version_of(root)}: make docs"


def repository(root: Path) -> Iterator[str]:
    """Nothing is left to commit; the tag of the version, if there is one, is this commit."""
    if git(root, "status", "--porcelain"):
        yield "git: there are changes that are not committed"
    tag = git(root, "rev-parse", "--verify", "-q", f"v{version_of(root)}^{{commit}}")
    if tag is not None and tag != git(root, "rev-parse", "HEAD"):
        yield f"git: v{version_of(root)} is another commit"


CHECKS: tuple[Callable[[Path], Iterator[str]], ...] = (
    versions, changelog, figures, packages, documentation, repository,
)  # fmt: skip


def main() -> None:
    """Print every problem."""
    problems = [problem for check in CHECKS for problem in check(ROOT)]
    print("\n".join(problems) or f"tagwright {version_of(ROOT)} is ready for release")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
