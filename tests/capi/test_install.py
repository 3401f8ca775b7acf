"""The installed library: a program finds it by pkg-config and by CMake."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.capi import ROOT, build_folder, library_path

import tagwright as tw

ENGLISH = Path(tw.__file__).parent / "models" / "english.safetensors"
EXAMPLE = Path(__file__).with_name("example.c")
PROJECT = f"""
cmake_minimum_required(VERSION 3.18)
project(uses_tagwright LANGUAGES C CXX)
find_package(tagwright REQUIRED)
add_executable(in_c {EXAMPLE})
target_link_libraries(in_c PRIVATE tagwright::tagwright_shared)
add_executable(in_cpp in_cpp.cpp)
target_link_libraries(in_cpp PRIVATE tagwright::tagwright)
"""
IN_CPP = """
#include <iostream>
#include "model/trained_model.h"
int main(int, char** arguments) {
  std::cout << tagwright::TrainedModel::load(arguments[1])->labels().size() << std::endl;
}
"""

pytestmark = [
    pytest.mark.skipif(not shutil.which("cmake"), reason="CMake is not installed"),
    pytest.mark.skipif(build_folder() != ROOT / "build" / "release", reason="a sanitizer's library is not installed"),
]


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    library_path()
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", build_folder(), "--component", "library", "--prefix", prefix)
    return prefix


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text("Time flies.", encoding="utf-8")
    return path


def has_labels(output):
    words = ["Time", "flies", "."]
    expected = [list(pair) for pair in zip(words, tw.load().tag(words), strict=True)]
    return [line.split("\t")[:2] for line in output.splitlines() if "\t" in line] == expected


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
def test_pkg_config(installed, text, tmp_path):
    (folder,) = installed.rglob("pkgconfig")
    flags = run(
        "pkg-config", "--cflags", "--libs", "tagwright", env={"PKG_CONFIG_PATH": str(folder), "PATH": "/usr/bin"}
    )
    run("cc", "-std=c99", EXAMPLE, *flags.split(), f"-Wl,-rpath,{folder.parent}", "-o", tmp_path / "example")
    assert has_labels(run(tmp_path / "example", ENGLISH, text, 1))


@pytest.mark.slow
def test_cmake_package(installed, text, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "in_cpp.cpp").write_text(IN_CPP, encoding="utf-8")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    assert has_labels(run(tmp_path / "build" / "in_c", ENGLISH, text, 1))
    assert int(run(tmp_path / "build" / "in_cpp", ENGLISH)) == len(tw.load().labels)
