"""Existing files: what a command replaces, and what it replaces only with --force."""

import pytest
from support.commands import columns, complaint, printed
from support.corpora import ten_sentences

import tagwright as tw

CORPUS = columns(*ten_sentences())


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(CORPUS)


@pytest.mark.parametrize("more", [["train"], ["tune", "--dev", "a.txt"]], ids=lambda more: more[0])
@pytest.mark.parametrize("arguments", [["a.txt", "b.txt"], ["a.txt", "a.txt"], ["-", "b.txt"]], ids=" ".join)
def test_a_forgotten_model_does_not_cost_a_corpus(tmp_path, more, arguments):
    said = complaint(*more, *arguments, given=CORPUS)
    assert arguments[-1] in said
    assert "--force" in said
    assert all((tmp_path / name).read_text() == CORPUS for name in ("a.txt", "b.txt"))


def test_a_file_below_a_folder_of_corpora_is_an_input(tmp_path):
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "a.txt"
    part.write_text(CORPUS)
    assert "also an input" in complaint("train", "parts", part)
    (tmp_path / "link").symlink_to(part)
    assert "also an input" in complaint("train", "parts", "link")
    assert part.read_text() == CORPUS


def test_dev_data_and_word_lists_are_not_overwritten(tmp_path):
    assert "also an input" in complaint("train", "a.txt", "b.txt", "--dev", "b.txt")
    assert "not a tagwright model" in complaint("train", "a.txt", "b.txt", "--list", "names=b.txt")


def test_force_overwrites():
    printed("train", "a.txt", "b.txt", "--epochs", "1", "--force")
    assert tw.load("b.txt").facts["learner"] == "crf"


def test_models_and_empty_files_are_overwritten(tmp_path):
    (tmp_path / "m").write_bytes(b"")
    for seed in ("1", "2"):
        printed("train", "a.txt", "m", "--epochs", "1", "--set", f"seed={seed}")
        assert tw.load("m").facts["options"]["seed"] == int(seed)
    printed("train", "a.txt", "m", "--epochs", "1", "--warm-start", "m")


def test_another_safetensors_file_is_not_a_model(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weights": tw.load().arrays["rows.weight"][:3]}, tmp_path / "m")
    assert "not a tagwright model" in complaint("train", "a.txt", "m")


@pytest.mark.parametrize("command", [["tag", "a.txt"], ["report", "a.txt", "-l", "2"]], ids=lambda command: command[0])
def test_output_that_is_an_input(tmp_path, command):
    assert "also an input" in complaint(*command, "-o", "a.txt")
    assert (tmp_path / "a.txt").read_text() == CORPUS
    printed("train", "b.txt", "m", "--epochs", "1")
    before = (tmp_path / "m").read_bytes()
    assert "also an input" in complaint(*command, "-m", "m", "-o", "m")
    assert (tmp_path / "m").read_bytes() == before
