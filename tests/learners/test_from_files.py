"""Training on files: the model of `fit`, bit for bit, and files that are damaged, old, or only half there."""

import errno
import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commands import columns, complaint, printed
from support.corpora import drawn, many_labels, same_arrays, ten_sentences, untimed
from support.flat import crf
from support.memory import measurable, megabytes

import tagwright as tw
from tagwright.data.files import DataError
from tagwright.learners.encoded import EncodedError, opened
from tagwright.learners.examples import Examples, StreamedExamples
from tagwright.learners.streams import stream_of

WORD = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
PAIRS = "U0:%x[0,0]\nB0:%x[0,0]\nB\n"
X10, Y10 = ten_sentences()
LEARNERS = {
    "perceptron": lambda **more: tw.Perceptron("pos", epochs=3, **more),
    "rare": lambda **more: tw.Perceptron(WORD, epochs=2, min_count=3, pairs="observed", **more),
    "token-dependent edges": lambda **more: tw.Perceptron(PAIRS, epochs=2, min_count=2, **more),
    "margin": lambda **more: tw.Perceptron(WORD, epochs=2, margin=2, parts="", **more),
    "scheme": lambda **more: tw.Perceptron(WORD, epochs=2, constraints=[2], **more),
    "online": lambda **more: crf(WORD, epochs=3, **more),
    "online dictionary": lambda **more: crf(WORD, epochs=2, constraints=2, **more),
    "adagrad": lambda **more: crf(PAIRS, solver="adagrad", pruning="exact", epochs=2, min_count=2, **more),
    "lbfgs": lambda **more: crf(WORD, solver=tw.LBFGS(l2=0.1, max_iterations=8), min_count=2, **more),
    "start_on": lambda **more: crf(WORD, solver=tw.LBFGS(l2=0.1, max_iterations=4, start_on=0.5), **more),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """1,300 sentences, more than are summed together, and their file."""
    X, y = drawn(1, sentences=1300, words=60, labels=9, longest=7)
    X, y = zip(*((words, labels) for words, labels in zip(X, y, strict=True) if words), strict=True)
    path = tmp_path_factory.mktemp("corpus") / "train.txt"
    path.write_text(columns(X, y), encoding="utf-8")
    return list(X), list(y), path


def same(one, other):
    """Whether two trainings ended with the same bits, and say the same of themselves."""
    facts = [{name: fact for name, fact in untimed(run.model_).items() if name != "data"} for run in (one, other)]
    return same_arrays(one.model_.arrays, other.model_.arrays) and facts[0] == facts[1]


@pytest.mark.parametrize("name", LEARNERS)
def test_files_and_memory_train_the_same_model(corpus, tmp_path, name):
    X, y, path = corpus
    expected = LEARNERS[name]().fit(X, y)
    assert same(LEARNERS[name]().fit_files(path), expected)
    assert same(LEARNERS[name](threads=2).fit_files([path], cache=tmp_path), expected)
    assert same(LEARNERS[name]().fit_files(path, cache=tmp_path), expected)  # encoded before
    assert len(list(tmp_path.iterdir())) == 1
    assert same(LEARNERS[name]().fit_files(list(zip(X, y, strict=True))), expected)
    assert sorted(path.parent.iterdir()) == [path]


def test_several_files_and_folders_are_one_corpus(corpus, tmp_path):
    X, y, _ = corpus
    expected = tw.Perceptron(WORD, epochs=2).fit(X, y)
    parts = [(0, 300), (300, 301), (301, 1000), (1000, len(X))]
    (tmp_path / "folder" / "b").mkdir(parents=True)
    names = ["folder/1.txt", "folder/2.txt.xz", "folder/b/1.txt", "folder/b/2.txt"]
    for name, (begin, end) in zip(names, parts, strict=True):
        data = columns(X[begin:end], y[begin:end]).encode()
        (tmp_path / name).write_bytes(lzma.compress(data) if name.endswith("xz") else data)
    (tmp_path / "folder" / ".hidden").write_text("not a corpus")
    for given in (tmp_path / "folder", [tmp_path / name for name in names], [str(tmp_path / "folder")]):
        assert same(tw.Perceptron(WORD, epochs=2).fit_files(given), expected)


def test_partial_labels_are_read_from_files(tmp_path):
    X, y = drawn(4, sentences=60, words=8, labels=4)
    rng = np.random.default_rng(0)
    y = [[[label, None, {label, "L0"}][rng.integers(3)] for label in labels] for labels in y]
    cells = [
        ["_" if one is None else one if isinstance(one, str) else ",".join(sorted(one)) for one in own] for own in y
    ]
    full = [n for n, words in enumerate(X) if words]
    path = tmp_path / "partial.txt"
    path.write_text(columns([X[n] for n in full], [cells[n] for n in full]), encoding="utf-8")
    X, y = [X[n] for n in full], [y[n] for n in full]
    for learner in (lambda: tw.Perceptron(WORD, epochs=2), lambda: tw.CRF(WORD, solver=tw.LBFGS(max_iterations=3))):
        expected = learner().fit(X, y)
        assert same(learner().fit_files(path, partial=True), expected)
        assert same(learner().fit_files(list(zip(X, y, strict=True))), expected)


def test_ready_made_features_with_values_come_from_an_iterable():
    X = [[{"word": word, "length": float(len(word)), "rare": {f"{s}{t}": 0.5}} for t, word in enumerate(words)]
         for s, words in enumerate(X10)]  # fmt: skip
    for count in (1, 2):
        for learner in (
            lambda n: tw.Perceptron(epochs=2, min_count=n),
            lambda n: tw.CRF(solver=tw.LBFGS(l2=1), min_count=n),
        ):
            assert same(learner(count).fit_files(list(zip(X, Y10, strict=True))), learner(count).fit(X, Y10))


def test_an_iterable_begins_anew_each_time():
    class Readings:
        count = 0

        def __iter__(self):
            Readings.count += 1
            return iter(zip(X10, Y10, strict=True))

    assert same(tw.Perceptron(epochs=2).fit_files(Readings()), tw.Perceptron(epochs=2).fit(X10, Y10))
    assert Readings.count == 3  # the first token, labels, features


def test_a_checkpoint_of_lists_is_resumed_from_files(corpus, tmp_path):
    X, y, path = corpus
    for learner, more in ((tw.Perceptron, {"epochs": 2}), (tw.CRF, {"epochs": 2})):
        state = tmp_path / f"{learner.__name__}.safetensors"
        learner(WORD, **more).fit(X, y, checkpoint=state)
        on = learner(WORD, epochs=4).fit_files(path, checkpoint=state)
        assert same(on, learner(WORD, epochs=4).fit(X, y))


def test_a_warm_start_takes_new_features_and_labels_from_files(corpus, tmp_path):
    X, y, path = corpus
    old = tw.Perceptron(WORD, epochs=1).fit([["w1", "old"]], [["L1", "OLD"]]).model_
    expected = tw.Perceptron(WORD, epochs=1, min_count=3, warm_start=old).fit(X, y)
    for _ in range(2):
        found = tw.Perceptron(WORD, epochs=1, min_count=3, warm_start=old).fit_files(path, cache=tmp_path)
        assert same(found, expected)
    assert found.model_.knows("old")


def test_a_model_of_files_knows_how_they_were_read(corpus):
    assert tw.Perceptron(WORD, epochs=1).fit_files(corpus[2]).model_.facts["data"] == {
        "format": "auto", "label": "last", "comments": False, "blanks": None,
    }  # fmt: skip


def encoded(path, cache, min_count=1):
    tw.Perceptron(WORD, epochs=1, min_count=min_count).fit_files(path, cache=cache)
    (found,) = cache.glob("*.corpus")
    return found


def test_what_the_corpus_depends_on_names_its_file(corpus, tmp_path):
    X, y, path = corpus
    own = tmp_path / "own.txt"
    shutil.copy(path, own)
    for number, options in enumerate([{}, {"min_count": 2}, {"features": PAIRS}], 1):
        tw.Perceptron(**{"features": WORD, "epochs": 1, **options}).fit_files(own, cache=tmp_path / "cache")
        assert len(list((tmp_path / "cache").iterdir())) == number
    own.write_text(columns(X[1:], y[1:]), encoding="utf-8")  # the same name, other sentences
    found = tw.Perceptron(WORD, epochs=1).fit_files(own, cache=tmp_path / "cache")
    assert same(found, tw.Perceptron(WORD, epochs=1).fit(X[1:], y[1:]))


DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "cut at the end": lambda data: data[:-1],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "a feature": lambda data: data[:130] + b"\xff" + data[131:],
    "a label": lambda data: data[:-3000] + bytes(reversed(data[-3000:-2990])) + data[-2990:],
    "description": lambda data: data[:-50] + b"9" + data[-49:],
    "another file": lambda data: b"tagwright corpus 1 0 1 ff\n" + data,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_and_made_anew(corpus, tmp_path, damage, caplog):
    path = corpus[2]
    found = encoded(path, tmp_path)
    whole = found.read_bytes()
    found.write_bytes(DAMAGES[damage](whole))
    with pytest.raises(EncodedError, match="not a complete encoded corpus"):
        opened(found)
    again = tw.Perceptron(WORD, epochs=1).fit_files(path, cache=tmp_path)
    assert "it is encoded again" in caplog.text
    assert same(again, tw.Perceptron(WORD, epochs=1).fit(*corpus[:2]))
    assert found.read_bytes() == whole


def test_the_numbers_of_a_file_are_checked_themselves(corpus, tmp_path):
    """Whoever repairs the digests gets no further: every number must be one that may be there."""
    from tagwright import _core

    held = opened(encoded(corpus[2], tmp_path))
    sizes = (len(held.about["labels"]), held.about["features"], held.about["sets"])
    _core.Corpus.opened(held.arrays, *sizes)
    for name, array in held.arrays.items():
        if not len(array) or name.endswith(".bytes"):
            continue
        for at, value in ((0, 2**31 - 1), (len(array) // 2, 2**31 - 1), (len(array) - 1, 2**31 - 1), (-1, 0)):
            wrong = array.copy()
            if wrong[at] == value or (name == "labels" and value == 0) or (name.endswith("id") and value == 0):
                continue
            wrong[at] = value
            with pytest.raises(ValueError, match=r"corpus|label|index|feature"):
                _core.Corpus.opened({**held.arrays, name: wrong}, *sizes)
        if not name.endswith(".slots"):
            with pytest.raises(ValueError, match=r"corpus|label|index|feature|one "):
                _core.Corpus.opened({**held.arrays, name: array[:-1]}, *sizes)


def test_a_killed_run_leaves_nothing_that_is_used(corpus, tmp_path):
    """What is written is a file beside, which the next run removes."""
    path, cache = corpus[2], tmp_path / "cache"
    code = (
        "import os, sys, tagwright as tw, tagwright.learners.encoded as encoded\n"
        "encoded.Encoding.finish = lambda *_: os.kill(os.getpid(), 9)\n"
        f"tw.Perceptron({WORD!r}, epochs=1).fit_files({str(path)!r}, cache={str(cache)!r})\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert killed.returncode == -9
    (left,) = cache.iterdir()
    assert left.name.endswith(".part")
    found = tw.Perceptron(WORD, epochs=1).fit_files(path, cache=cache)
    assert same(found, tw.Perceptron(WORD, epochs=1).fit(*corpus[:2]))
    assert [file.suffix for file in cache.iterdir()] == [".corpus"]


def test_a_file_that_is_cut_while_it_is_in_use_is_an_error_not_a_crash(corpus, tmp_path):
    held = opened(encoded(corpus[2], tmp_path))
    os.truncate(next(tmp_path.glob("*.corpus")), 4096)
    with pytest.raises(RuntimeError, match="was its file cut"):
        held.corpus.cut(np.arange(1000, dtype=np.int32))


def test_cuts_have_the_requested_sentences(corpus, tmp_path):
    held = opened(encoded(corpus[2], tmp_path))
    arrays, rng = held.arrays, np.random.default_rng(0)
    chosen = rng.permutation(held.corpus.sentences)[:100].astype(np.int32)
    cut = held.corpus.cut(chosen)
    ends = arrays["sentence_end"].astype(int)
    lengths = [ends[s] - (ends[s - 1] if s else 0) for s in chosen]
    assert (cut.sentences, cut.tokens) == (100, sum(lengths))
    with pytest.raises(ValueError, match="no such sentence"):
        held.corpus.cut(np.array([held.corpus.sentences], np.int32))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((pair for pair in []), "a generator can be read only once; give files"),
        (7, "a file, several, or an iterable of pairs is needed, not 7"),
        ([("a", "b", "c")], "sentence 0: a pair of tokens and labels is needed"),
        ([(["a"], ["X"]), (["a"], ["X", "Y"])], "sentence 1 has 1 tokens, but 2 labels"),
        ([(["a"], ["X"]), ([None], ["X"])], "sentence 1, token 0 must be a string"),
        ([(["a"], ["X"]), (["a"], [set()])], r"y\[1\]\[0\] is an empty set"),
        ([], "no file to read"),
        ({}, "there is no token to learn from"),
    ],
)
def test_invalid_corpora_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        tw.Perceptron().fit_files(given)


def test_errors_in_late_pieces_name_the_sentence(monkeypatch):
    monkeypatch.setattr("tagwright.learners.streams._TOKENS", 1)
    pairs = list(zip(X10, Y10, strict=True))
    assert same(tw.Perceptron(epochs=1).fit_files(pairs), tw.Perceptron(epochs=1).fit(X10, Y10))
    for wrong, message in (
        ((["a", 7], ["DT", "NN"]), "sentence 10, token 1 must be a string or a list of columns, not int"),
        ((["a"], ["DT", "NN"]), "sentence 10 has 1 tokens, but 2 labels"),
        ((["a"], [{1.5}]), r"y\[10\]\[0\] holds 1.5"),
        ((["a"], [{1, 2}]), r"y\[10\] has integers, but earlier sentences have strings"),
    ):
        with pytest.raises(ValueError, match=message):
            tw.Perceptron(epochs=1).fit_files([*pairs, wrong])


def test_integers_of_pairs_are_returned_as_given():
    fitted = tw.Perceptron("U:%x[0,0]\nB\n", epochs=3).fit_files([(["a", "b"], [3, 4]), (["b"], [4])])
    assert fitted.predict([["a", "b"]]) == [[3, 4]]


def test_missing_and_empty_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        tw.Perceptron().fit_files(tmp_path / "none.txt")
    with pytest.raises(DataError, match="a folder without files"):
        tw.Perceptron().fit_files(tmp_path)
    (tmp_path / "empty.txt").touch()
    with pytest.raises(DataError, match="empty"):
        tw.Perceptron().fit_files(tmp_path)


def test_sentences_that_change_between_readings_are_refused():
    class Changing:
        def __init__(self):
            self.count = 0

        def __iter__(self):
            self.count += 1
            return iter(list(zip(X10, Y10, strict=True))[: 10 - (self.count > 2)])

    with pytest.raises(ValueError, match="changed while they were read"):
        tw.Perceptron().fit_files(Changing())


def test_streamed_and_read_corpora_have_the_same_digest(corpus):
    from tagwright.learners.batch import BatchTraining

    X, y, path = corpus
    for count in (1, 3):
        learner = tw.CRF(WORD, solver=tw.LBFGS(l2=1), min_count=count)
        streamed = StreamedExamples(stream_of(path, {"format": "auto", "label": "last"}, False), None, False)
        digests = [BatchTraining(learner, examples).corpus.digest for examples in (Examples(X, y), streamed)]
        assert digests[0] == digests[1]


@measurable
@pytest.mark.slow
@pytest.mark.parametrize("learner", ["Perceptron(epochs=1)", "CRF(epochs=1)", "CRF(l2=1, max_iterations=1)"])
def test_memory_does_not_grow_with_the_corpus(learner, tmp_path):
    X, y = many_labels(sentences=400, labels=12)
    text = columns(X, y)
    peaks = []
    for times in (50, 250):
        path = tmp_path / f"{times}.txt"
        path.write_text(text * times, encoding="utf-8")
        start = "import warnings, sklearn.base, tagwright as tw, tagwright.learners.streams as streams"
        small = "warnings.simplefilter('ignore'); streams._TOKENS = 1 << 13"  # a piece, as small as the corpus is
        peaks.append(megabytes(f"{start}; {small}; begin(); tw.{learner}.fit_files({str(path)!r})"))
    # Five times the corpus: 100,000 sentences, which are 75 MB of numbers.
    assert peaks[1] < peaks[0] + 10


def test_the_command_line_takes_several_files_and_keeps_what_it_encoded(corpus, tmp_path, monkeypatch):
    X, y, path = corpus
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(columns(X[:500], y[:500]), encoding="utf-8")
    Path("b.txt").write_text(columns(X[500:], y[500:]), encoding="utf-8")
    Path("templates").write_text(WORD, encoding="utf-8")
    options = ["-f", "templates", "--epochs", 2]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    shown = printed("train", path, "one", *options)
    for names in (
        ["a.txt", "b.txt"],
        ["a.txt", "b.txt", "--set", "cache=kept"],
        ["a.txt", "b.txt", "--set", "cache=kept"],
    ):
        told = printed("train", *names[:2], "model", *names[2:], *options)
        assert Path("model").read_bytes() == Path("one").read_bytes()
        assert told.splitlines()[2:7] == shown.splitlines()[2:7]
    assert len(list(Path("kept").iterdir())) == 1
    monkeypatch.setattr("tagwright.cli.corpora._LARGE", 0)
    printed("train", "a.txt", "b.txt", "model", *options)
    assert Path("model").read_bytes() == Path("one").read_bytes()
    assert sorted(file.name for file in Path().iterdir()) == ["a.txt", "b.txt", "kept", "model", "one", "templates"]


def test_the_command_line_reports_what_cannot_be_kept(corpus, tmp_path):
    path, model = corpus[2], tmp_path / "m"
    assert complaint("train", "-", path, model) == "standard input (-) cannot be one of several corpora; name files"
    said = complaint("train", "-", model, "--set", f"cache={tmp_path}")
    assert said == "standard input (-) cannot be kept in --set cache; name files"
    said = complaint("train", path, model, "--learner", "hmm", "--set", f"cache={tmp_path}")
    assert said.startswith("--set cache is not for --learner hmm")
    (tmp_path / "folder").mkdir()
    assert complaint("train", tmp_path / "folder", model).endswith("a folder without files; name one that has some")


def test_an_iterable_is_encoded_into_a_new_folder(tmp_path):
    pairs = list(zip(X10, Y10, strict=True))
    found = tw.Perceptron(WORD, epochs=2).fit_files(pairs, cache=tmp_path / "new" / "cache")
    assert same(found, tw.Perceptron(WORD, epochs=2).fit(X10, Y10))


@pytest.mark.parametrize("cached", [True, False])
def test_a_full_disk_names_the_file(corpus, tmp_path, monkeypatch, cached):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tagwright.learners.encoded.os.pwrite", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        tw.Perceptron(WORD, epochs=1).fit_files(corpus[2], cache=tmp_path if cached else None)
    where = raised.value.filename
    assert where.endswith(".corpus") if cached else where == str(corpus[2].parent)
