"""The examples in other languages: the same scores, probabilities and labels as Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.capi import ROOT, library_path

import tagwright as tw

BINDINGS = ROOT / "examples" / "bindings"
ENGLISH = Path(tw.__file__).parent / "models" / "english.safetensors"
TEXT = "I can't stay. “Naïve” Dr. Smith paid US$5.50, didn't he?"
JARS = [Path(os.environ.get("JNA", "/")), Path("/usr/share/java/jna.jar")]  # the latter is Debian's libjna-java
JNA = next(filter(Path.is_file, JARS), None)

pytestmark = pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer's run time is not for other languages")


def assert_as_python(lines):
    right = [one for own in tw.load().tag_kbest(tw.sentences(TEXT), 2, proba=True) for one in own]
    words = [sentence for sentence in tw.sentences(TEXT) for _ in range(2)]
    assert len(lines) == len(right) == 4
    for line, one, tokens in zip(lines, right, words, strict=True):
        score, probability, *pairs = line.split(" ")
        assert (float(score), float(probability)) == (one.score, one.probability)
        assert [pair.rsplit("/", 1) for pair in pairs] == [list(own) for own in zip(tokens, one.labels, strict=True)]


def output(command, **environment):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C.UTF-8"} | environment
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.skipif(not shutil.which("ruby"), reason="Ruby is not installed")
def test_ruby():
    command = ["ruby", BINDINGS / "tagwright.rb"]
    code, lines, errors = output([*command, ENGLISH, TEXT, "2"], TAGWRIGHT_LIBRARY=str(library_path()))
    assert code == 0, errors
    assert_as_python(lines)
    code, _, errors = output([*command, "/nowhere", TEXT], TAGWRIGHT_LIBRARY=str(library_path()))
    assert code == 1
    assert "No such file" in errors


@pytest.mark.skipif(not shutil.which("java") or JNA is None, reason="Java or JNA is not installed")
def test_java():
    settings = {"jna.library.path": library_path().parent, "file.encoding": "UTF-8", "stdout.encoding": "UTF-8"}
    flags = [f"-D{name}={value}" for name, value in settings.items()]
    command = ["java", *flags, "-cp", JNA, BINDINGS / "Tagwright.java"]
    code, lines, errors = output([*command, ENGLISH, TEXT, "2"])
    assert code == 0, errors
    assert_as_python(lines)
    code, _, errors = output([*command, "/nowhere", TEXT])
    assert code == 1
    assert "No such file" in errors
