"""Many files, one result each: what `tag --ray` writes, keeps and refuses, without a cluster."""

import os
import re

import pytest
from support.commands import columns, complaint, printed
from support.corpora import many_labels, ten_sentences

import tagwright as tw
from tagwright.cluster import BatchTagger
from tagwright.cluster.files import Job, jobs_of, once
from tagwright.cluster.parquet import tag_parquet


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("models") / "model.safetensors"
    tw.CRF(epochs=2).fit(*many_labels()).model_.save(made)
    return made


def job(folder):
    (folder / "in.txt").write_text("a\nb\n")
    return Job(str(folder / "in.txt"), str(folder / "out" / "in.txt"), str(folder / "out" / ".tagwright" / "in.json"))


def upper(source, out):
    with open(source, "rb") as file:
        out.write(file.read().upper())


def forbidden(source, out):
    raise AssertionError("it is done already")


def test_what_is_done_is_not_done_again(tmp_path):
    own = job(tmp_path)
    assert once(own, "key", upper)
    assert (tmp_path / "out" / "in.txt").read_text() == "A\nB\n"
    assert not once(own, "key", forbidden)


@pytest.mark.parametrize("change", ["input", "output", "key", "record", "no output", "no record"])
def test_whatever_has_changed_is_done_again(tmp_path, change):
    own = job(tmp_path)
    once(own, "key", upper)
    if change == "input":
        (tmp_path / "in.txt").write_text("c\n")
    elif change == "output":
        (tmp_path / "out" / "in.txt").write_text("A\n")
    elif change == "record":
        (tmp_path / "out" / ".tagwright" / "in.json").write_text('{"key": ')
    elif change == "no output":
        (tmp_path / "out" / "in.txt").unlink()
    elif change == "no record":
        (tmp_path / "out" / ".tagwright" / "in.json").unlink()
    assert once(own, "other" if change == "key" else "key", upper)
    assert (tmp_path / "out" / "in.txt").read_text() == ("C\n" if change == "input" else "A\nB\n")
    assert not once(own, "other" if change == "key" else "key", forbidden)


def test_work_that_fails_leaves_nothing(tmp_path):
    own = job(tmp_path)

    def half(source, out):
        out.write(b"half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        once(own, "key", half)
    assert [name for _, _, names in os.walk(tmp_path / "out") for name in names] == []


def test_results_have_the_names_of_the_inputs(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.txt.xz", "deep/a.txt", "deep/.hidden"):
        (tmp_path / "in" / name).touch()
    found = jobs_of([str(tmp_path / "in")], str(tmp_path / "out"))
    targets = [os.path.relpath(own.target, tmp_path / "out") for own in found]
    assert targets == ["a.txt", "b.txt", "deep/a.txt"]
    assert len({own.record for own in found}) == 3


@pytest.mark.parametrize(
    ("given", "folder", "message"),
    [
        (["in/a.txt", "in/deep/a.txt"], "out", "the results of two files would have one name"),
        (["in/a.txt", "in/a.txt.xz"], "out", "the results of two files would have one name"),
        (["in"], "in", "results in a folder that is tagged would be tagged"),
        (["in"], "in/out", "results in a folder that is tagged would be tagged"),
        (["in/a.txt"], "in", "would be replaced by its result"),
        (["empty"], "out", "a folder without files"),
    ],
)
def test_results_that_would_meet_are_refused(tmp_path, monkeypatch, given, folder, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name in ("a.txt", "a.txt.xz", "deep/a.txt"):
        (tmp_path / "in" / name).touch()
    with pytest.raises(ValueError, match=message):
        jobs_of(given, folder)


def test_inputs_that_a_cluster_cannot_tag_are_refused(tmp_path, path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "a.parquet").touch()
    tag = ("tag", "-m", path, "--ray", "local")
    assert "name a folder with -o" in complaint(*tag, "a.txt")
    assert "standard input cannot be tagged with --ray" in complaint(*tag, "-o", "out")
    assert "a.txt: not a folder" in complaint(*tag, "a.txt", "-o", "a.txt")
    assert "--json is not for Parquet files" in complaint(*tag, "a.parquet", "--json", "-o", "out")
    assert "--proba all is not for Parquet files" in complaint(*tag, "a.parquet", "--proba", "all", "-o", "out")
    assert "are tagged with --ray" in complaint("tag", "-m", path, "a.txt", "a.parquet")
    assert "a.parquet: Parquet files are tagged with --ray" in complaint("tag", "-m", path, ".")
    assert not (tmp_path / "out").exists()


def parquet_file(folder, rows, **options):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'tagwright[ray]'")
    import pyarrow.parquet

    made = folder / "in.parquet"
    pyarrow.parquet.write_table(arrow.table(rows), made, **options)
    return made


def tagged_parquet(folder, source, tagger):
    import pyarrow.parquet

    target = folder / "out.parquet"
    with open(target, "wb") as out:
        tag_parquet(str(source), out, tagger)
    return pyarrow.parquet.ParquetFile(target)


@pytest.mark.engines
def test_parquet_keeps_its_rows_and_columns_and_gets_labels(tmp_path, path):
    X, _ = many_labels(seed=1, sentences=50)
    source = parquet_file(tmp_path, {"id": list(range(50)), "words": X}, row_group_size=20)
    found = tagged_parquet(tmp_path, source, BatchTagger(path, "words", k=2, proba=True))
    assert found.num_row_groups == 3
    table = found.read().to_pydict()
    best = tw.load(path).tag_kbest(X, 2, proba=True)
    assert table["id"] == list(range(50))
    assert table["words"] == X
    assert table["labels"] == [own[0].labels for own in best]
    assert table["kbest"] == [[one.labels for one in own] for own in best]
    assert table["kbest_probability"] == [[one.probability for one in own] for own in best]
    assert table["marginals"] == [own[0].marginals for own in best]


@pytest.mark.engines
def test_parquet_without_rows_gets_the_same_columns(tmp_path, path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'tagwright[ray]'")
    source = parquet_file(tmp_path, {"tokens": arrow.array([], arrow.list_(arrow.string()))})
    found = tagged_parquet(tmp_path, source, BatchTagger(path))
    assert found.schema_arrow.names == ["tokens", "labels"]
    assert found.metadata.num_rows == 0


@pytest.mark.engines
def test_parquet_that_does_not_fit_is_refused_with_the_place(tmp_path, path):
    rows = {"text": ["a b"], "tokens": [["a"]], "labels": [["N"]]}
    source = parquet_file(tmp_path, rows)
    for tagger, message in (
        (BatchTagger(path), "the batch has a column 'labels' already"),
        (BatchTagger(path, "words"), "no column 'words' in the batch, which has 'text', 'tokens', 'labels'"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(str(source))}: {message}"):
            tagged_parquet(tmp_path, source, tagger)
    source = parquet_file(tmp_path, {"text": ["a b"]})
    with pytest.raises(ValueError, match="column 'text', row 0: a sentence must be a list of tokens, not 'a b'"):
        tagged_parquet(tmp_path, source, BatchTagger(path, "text"))
    source.write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match="not a Parquet file"):
        tagged_parquet(tmp_path, source, BatchTagger(path))


def test_a_worker_writes_what_the_command_would(tmp_path, path):
    from tagwright.cli.distributed_tagging import FileWork
    from tagwright.cli.tag import tag
    from tagwright.cli.tagging import TagOptions

    X, y = ten_sentences()
    own = job(tmp_path)
    (tmp_path / "in.txt").write_text(columns(X, y))
    for flags in ([], ["--json", "-k", "2"], ["--proba", "all"]):
        given = tag.make_context("tag", ["-m", str(path), *flags]).params
        wanted = TagOptions(**{name: given[name] for name in TagOptions.__dataclass_fields__})
        outcome = FileWork(wanted, "tokens", " ".join(flags))(own)
        assert (outcome.made, outcome.complaint) == (True, "")
        assert (tmp_path / "out" / "in.txt").read_text() == printed("tag", "-m", path, own.source, *flags)
    (tmp_path / "in.txt").write_bytes(b"\xff\n")
    outcome = FileWork(wanted, "tokens", "other")(own)
    assert outcome.complaint.startswith(f"{own.source}:1: not UTF-8")
