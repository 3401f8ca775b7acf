"""Install the wheels in dist/ into clean environments, one per interpreter, and test them there.

    python tools/check_wheels.py [--tests PATH...]

Each environment gets the wheel with its dependencies and nothing else. It must show the demonstration, import the
package without scikit-learn, and give the same answers as all others, with and without AVX2 and FMA. `--tests` installs
pytest as well and runs these tests of the suite.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import wheels

IMPORT = "import time; t = time.perf_counter(); import tagwright; print(round(time.perf_counter() - t, 3))"
NO_FMA = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"
TEST_TOOLS = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "safetensors>=0.4.3"]


def answers(python: Path, **variables: str) -> str:
    """Return the digests of all answers, as an environment gives them."""
    return wheels.run(
        python, wheels.ROOT / "tests" / "support" / "answers.py", cwd=wheels.WORK, env={**os.environ, **variables}
    )


def check(version: str, interpreter: Path, tests: list[str]) -> str:
    """Install and test the wheel for an interpreter; return its answers."""
    folder = wheels.WORK / f"check-{version}"
    wheels.run(interpreter, "-m", "venv", "--clear", folder)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    began = time.perf_counter()
    wheels.run(*pip, "--find-links", wheels.ROOT / "dist", "--only-binary", ":all:", "--pre", "tagwright", cwd=folder)
    seconds = time.perf_counter() - began
    wheels.run(folder / "bin" / "tagwright", "demo", cwd=folder)
    found = answers(python)
    for variables in ({"TAGWRIGHT_SIMD": "base"}, {"GLIBC_TUNABLES": NO_FMA}):
        if answers(python, **variables) != found:
            sys.exit(f"Python {version}: other answers with {variables}")
    imported = min(float(wheels.run(python, "-c", IMPORT, cwd=folder)) for _ in range(3))
    print(f"Python {version}: installed in {seconds:.1f} s, imported in {imported} s, same answers", flush=True)
    if tests:
        wheels.run(*pip, *TEST_TOOLS)
        print(wheels.run(python, "-m", "pytest", "-q", "-m", "not slow", *tests, cwd=wheels.ROOT), flush=True)
    return found


def main() -> None:
    """Check the wheels with every interpreter that is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", nargs="*", default=[], metavar="PATH")
    request = parser.parse_args()
    made = {path.name.split("-")[2] for path in (wheels.ROOT / "dist").glob("tagwright-*x86_64.whl")}
    fitting = {minor: path for minor, path in wheels.found_interpreters().items() if "cp312" in made or minor == 11}
    usable = {minor: path for minor, path in fitting.items() if minor >= 12 or "cp311" in made}
    if not usable:
        sys.exit("no wheel in dist/ fits an interpreter of this machine; run tools/wheels.py")
    if len({check(f"3.{minor}", path, request.tests) for minor, path in sorted(usable.items())}) > 1:
        sys.exit("the answers depend on the version of Python")


if __name__ == "__main__":
    main()
