"""tagwright.compat.crfsuite beside python-crfsuite itself."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import tagwright as tw
from tagwright.compat import crfsuite as ours
from tagwright.models.model import BUILT_IN

theirs = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed: pip install python-crfsuite")

NAMES = [f"w={n}" for n in range(40)] + ["naïve:größe", "%", "a b"]
LABELS = ["B-PER", "I-PER", "O", "好"]
WEATHER = [
    {"walk": 1, "shop": 0.5},
    {"walk": True, "in": ["a", "b"]},
    {"clean": 0.5, "in": {"x": "y", "z": 0.25}},
    {},
    {"солнце": "не светит".encode(), "clean": 1},
]
SKY = ["sunny", "sunny", "rainy", "rainy", "好"]


def drawn_value(rng, depth=0):
    kind = rng.integers(0, 8 if depth < 2 else 5)
    if kind < 2:
        return [float(rng.choice([1.0, 0.5, -2.0, 0.1])), bool(rng.integers(2))][kind]
    if kind < 5:
        return [str(rng.choice(NAMES)), b"bytes", int(rng.integers(-2, 3))][kind - 2]
    inner = [str(name) for name in rng.choice(NAMES, rng.integers(0, 3), replace=False)]
    return [inner, set(inner), {name: drawn_value(rng, depth + 1) for name in inner}][kind - 5]


def drawn_item(rng):
    names = [str(name) for name in rng.choice(NAMES, rng.integers(0, 6), replace=False)]
    kind = rng.integers(0, 5)
    return [
        names,
        tuple(names),
        dict.fromkeys(names, 1.0).keys(),
        {name: drawn_value(rng) for name in names},
        {name: float(rng.choice([1.0, 0.5, -1.0])) for name in names},
    ][kind]


def drawn_sentence(rng, most=9):
    return [drawn_item(rng) for _ in range(rng.integers(1, most))]


def trained(module, path, algorithm="lbfgs", params=(), seed=3, sentences=60, labels=LABELS):
    rng = np.random.default_rng(seed)
    trainer = module.Trainer(algorithm, dict(params), verbose=False)
    for _ in range(sentences):
        items = drawn_sentence(rng)
        trainer.append(items, [str(rng.choice(labels)) for _ in items])
    trainer.train(str(path))
    return trainer


def opened(module, path):
    tagger = module.Tagger()
    tagger.open(str(path))
    return tagger


def assert_same_tagging(mine, other, rng, tolerance, sentences=120):
    assert mine.labels() == other.labels()
    for _ in range(sentences):
        items = drawn_sentence(rng)
        found = other.tag(items)
        assert mine.tag(items) == found
        assert mine.tag() == found
        labelling = [str(label) for label in rng.choice(other.labels(), len(items))]
        assert mine.probability(labelling) == pytest.approx(other.probability(labelling), rel=tolerance, abs=1e-12)
        for t, label in itertools.product(range(len(items)), other.labels()):
            assert mine.marginal(label, t) == pytest.approx(other.marginal(label, t), rel=tolerance, abs=1e-9)


def test_items_are_read_as_there():
    rng = np.random.default_rng(1)
    for _ in range(300):
        sentence = drawn_sentence(rng)
        mine, other = ours.ItemSequence(sentence), theirs.ItemSequence(sentence)
        assert mine.items() == other.items()
        assert (len(mine), repr(mine)) == (len(other), repr(other))
        assert ours.ItemSequence(mine).items() == ours.ItemSequence(iter(mine.items())).items() == mine.items()


@pytest.mark.parametrize("algorithm", ["lbfgs", "ap", "arow"])
def test_their_models_are_tagged_as_there(algorithm, tmp_path):
    path = tmp_path / "model.crfsuite"
    trained(theirs, path, algorithm, {"max_iterations": 15})
    mine, other, rng = opened(ours, path), opened(theirs, path), np.random.default_rng(5)
    assert_same_tagging(mine, other, rng, 1e-9)
    sentences = [drawn_sentence(rng) for _ in range(50)]
    assert mine.tag_batch(sentences) == [other.tag(own) for own in sentences]
    assert [mine.tag(ours.ItemSequence(own)) for own in sentences] == mine.tag_batch(sentences)
    with ours.Tagger().open_inmemory(path.read_bytes()) as tagger:
        assert tagger.tag(sentences[0]) == other.tag(sentences[0])


def test_ties_are_broken_as_there(tmp_path):
    # Averaged perceptrons of one pass have few distinct weights.
    path = tmp_path / "model.crfsuite"
    for seed in range(8):
        trained(theirs, path, "ap", {"max_iterations": 1}, seed, sentences=3)
        mine, other, rng = opened(ours, path), opened(theirs, path), np.random.default_rng(seed)
        for _ in range(200):
            items = drawn_sentence(rng)
            assert mine.tag(items) == other.tag(items)


def test_models_of_many_labels_are_tagged_as_there(tmp_path):
    path = tmp_path / "model.crfsuite"
    trained(theirs, path, params={"max_iterations": 8}, labels=[f"L{n}" for n in range(90)], sentences=200)
    assert_same_tagging(opened(ours, path), opened(theirs, path), np.random.default_rng(5), 1e-9, sentences=15)


TIGHT = {"delta": 1e-12, "epsilon": 1e-9, "max_iterations": 5000}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"c1": 0.3, "c2": 0.05},
        {"feature.minfreq": 3},
        {"feature.possible_states": True},
        {"feature.possible_transitions": True, "c2": 0.1},
        {"feature.possible_states": 1, "feature.possible_transitions": 1, "feature.minfreq": 2, "c1": 0.1},
    ],
    ids=str,
)
def test_lbfgs_reaches_their_optimum(params, tmp_path):
    found, infos = [], []
    for module in (theirs, ours):
        trainer = trained(module, tmp_path / "model", params={**TIGHT, **params})
        found.append(trainer.logparser)
        infos.append(opened(module, tmp_path / "model").info())
    other, mine = found
    assert mine.featgen_num_features == other.featgen_num_features
    assert mine.last_iteration["loss"] == pytest.approx(other.last_iteration["loss"], rel=1e-6)
    for name in ("state_features", "transitions"):
        weights, expected = getattr(infos[1], name), getattr(infos[0], name)
        for key in weights.keys() | expected.keys():
            assert weights.get(key, 0) == pytest.approx(expected.get(key, 0), abs=2e-4)
    assert infos[1].labels == infos[0].labels
    assert_same_tagging(
        opened(ours, tmp_path / "model"), opened(ours, tmp_path / "model"), np.random.default_rng(2), 1e-9, 5
    )


def test_l2sgd_has_the_optimum_of_lbfgs(tmp_path):
    losses = [
        trained(ours, tmp_path / "model", name, {"c2": 0.7}).logparser.last_iteration["loss"]
        for name in ("lbfgs", "l2sgd")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize(
    ("algorithm", "params"),
    [
        ("ap", {}),
        ("pa", {}),
        ("pa", {"type": 0}),
        ("pa", {"type": 2, "c": 0.3, "averaging": False}),
        ("pa", {"error_sensitive": False, "c": 0.05}),
        ("arow", {}),
        ("arow", {"variance": 0.5, "gamma": 2}),
    ],
)
@pytest.mark.parametrize("epochs", [1, 3, 9])
def test_online_algorithms_take_their_steps(algorithm, params, epochs, tmp_path):
    # One sentence: its order is known.
    infos = []
    for module in (theirs, ours):
        trained(module, tmp_path / "model", algorithm, {**params, "max_iterations": epochs}, seed=11, sentences=1)
        infos.append(opened(module, tmp_path / "model").info())
    for name in ("state_features", "transitions"):
        weights, expected = getattr(infos[1], name), getattr(infos[0], name)
        for key in weights.keys() | expected.keys():
            assert weights.get(key, 0) == pytest.approx(expected.get(key, 0), abs=2e-6)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow", "averaged-perceptron", "AROW"])
def test_parameters_are_theirs(algorithm):
    mine, other = ours.Trainer(algorithm), theirs.Trainer(algorithm)
    assert mine.params() == other.params()
    assert mine.get_params() == other.get_params()
    for name, value in {"max_iterations": "7", "feature.minfreq": 2, "feature.possible_states": True}.items():
        mine.set(name, value)
        other.set(name, value)
        assert mine.get(name) == other.get(name)
        assert type(mine.get(name)) is type(other.get(name))
        assert mine.help(name)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.Trainer("foo"),
        lambda m: m.Trainer().select("lbfgs", "semi"),
        lambda m: m.Trainer().set("foo", 1),
        lambda m: m.Trainer().get("foo"),
        lambda m: m.Trainer().help("foo"),
        lambda m: m.Trainer(params={"foo": 1}),
        lambda m: m.Trainer().append([["a"]], ["x", "y"]),
        lambda m: m.Trainer().append([["a"]], [1]),
        lambda m: m.Trainer().append([[1]], ["x"]),
        lambda m: m.Trainer().append([{"a": (1,)}], ["x"]),
        lambda m: m.Trainer().append([{"a": None}], ["x"]),
        lambda m: m.Tagger().labels(),
        lambda m: m.Tagger().set([["a"]]),
        lambda m: m.Tagger().open("no such file"),
        lambda m: m.Tagger().open(__file__),
        lambda m: m.Tagger().open_inmemory(b""),
        lambda m: m.Tagger().open_inmemory("text"),
        lambda m: m.Tagger().dump("x"),
        lambda m: m.Tagger().info(),
        lambda m: m.Tagger().probability(["x"]),
        lambda m: m.Tagger().marginal("x", 0),
    ],
)
def test_errors_are_of_their_classes(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # their dump makes the file before it fails
    with pytest.raises(Exception) as other:  # noqa: PT011
        call(theirs)
    with pytest.raises(other.type):
        call(ours)


@pytest.mark.parametrize("module", [theirs, ours])
def test_errors_of_an_open_tagger(module, tmp_path):
    trained(theirs, tmp_path / "model")
    tagger = opened(module, tmp_path / "model")
    assert (tagger.tag([]), tagger.probability([])) == ([], 0)
    tagger.set([["a"], ["b"]])
    for call, error in (
        (lambda: tagger.probability(["O"]), ValueError),
        (lambda: tagger.probability(["O", "X"]), RuntimeError),
        (lambda: tagger.marginal("O", 2), ValueError),
        (lambda: tagger.marginal("O", -1), ValueError),
        (lambda: tagger.marginal("X", 0), RuntimeError),
    ):
        with pytest.raises(error):
            call()
    assert tagger.probability([b"O", "O"]) > 0
    tagger.close()
    with pytest.raises(ValueError, match="not opened"):
        tagger.labels()


def test_a_tagger_that_is_not_open():
    with pytest.raises(ValueError, match="not opened"):
        ours.Tagger().tag([["a"]])


def test_bad_sentences_leave_the_current_one(tmp_path):
    trained(ours, tmp_path / "model")
    tagger = opened(ours, tmp_path / "model")
    labels = tagger.tag([["w=1"], ["w=2"]])
    deep = "x"
    for _ in range(40):
        deep = {"a": deep}
    for bad in ("text", ["text"], [{"w=1": float("nan")}], [{"w=1": float("inf")}], [deep], 3, [None], [["\ud800"]]):
        with pytest.raises((ValueError, TypeError)):
            tagger.tag(bad)
    assert tagger.tag() == labels


def test_a_value_may_call_the_tagger(tmp_path):
    trained(ours, tmp_path / "model")
    tagger = opened(ours, tmp_path / "model")

    class Calling:
        def __float__(self):
            tagger.tag([["w=3"]] * 7)
            return 0.5

    expected = tagger.tag([{"w=1": 0.5}, {"w=2": 0.5}])
    assert tagger.tag([{"w=1": Calling()}, {"w=2": Calling()}]) == expected
    assert tagger.tag() == expected


def test_threads_share_a_tagger(tmp_path):
    trained(ours, tmp_path / "model")
    tagger, rng = opened(ours, tmp_path / "model"), np.random.default_rng(0)
    # The longest are decoded without the GIL.
    sentences = [drawn_sentence(rng, most) for most in (5, 9, 20000)]
    expected = [tagger.tag(own) for own in sentences]
    wrong = []

    def run():
        for _ in range(6):
            wrong.extend(own for own, right in zip(sentences, expected, strict=True) if tagger.tag(own) != right)

    workers = [threading.Thread(target=run) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_damaged_models_of_crfsuite_are_errors(tmp_path):
    trained(theirs, tmp_path / "model", sentences=12)
    content, rng = (tmp_path / "model").read_bytes(), np.random.default_rng(4)
    sentences = [drawn_sentence(rng) for _ in range(5)]
    refused = 0
    for n in range(600):
        own = bytearray(content)
        for at in rng.integers(0, len(own), rng.integers(1, 4)):
            own[at] = rng.integers(0, 256)
        own = own[: rng.integers(0, len(own))] if n % 3 == 0 else own
        try:
            tagger = ours.Tagger()
            tagger.open_inmemory(bytes(own))
            for sentence in sentences:
                assert len(tagger.tag(sentence)) == len(sentence)
                tagger.probability(tagger.tag())
            tagger.info()
        except (ValueError, UnicodeDecodeError, RuntimeError):
            refused += 1
    assert refused > 250


def test_models_are_those_of_tagwright(tmp_path):
    trained(ours, tmp_path / "model", params={"c2": 0.1})
    model, tagger, rng = tw.load(tmp_path / "model"), opened(ours, tmp_path / "model"), np.random.default_rng(0)
    assert model.labels == tagger.labels()
    for _ in range(30):
        items = [dict.fromkeys(map(str, rng.choice(NAMES, 3)), 1.0) for _ in range(5)]
        best = model.tag_kbest([items], 1, proba=True)[0][0]
        assert tagger.tag(items) == best.labels
        assert tagger.probability(best.labels) == pytest.approx(best.probability, rel=1e-5)
    learner = tw.CRF(None, solver="lbfgs").fit([WEATHER[:2]], [SKY[:2]])
    learner.model_.save(tmp_path / "own")
    assert opened(ours, tmp_path / "own").tag(WEATHER[:2]) == learner.predict([WEATHER[:2]])[0]
    with pytest.raises(ValueError, match=r"use tagwright\.load"):
        ours.Tagger().open(BUILT_IN)


def test_start_and_stop_scores_count(tmp_path):
    arrays = tw.load(_saved(tmp_path)).arrays
    ends = {"start": np.array([0.0, 5.0, 0, 0]), "stop": np.array([0, 0, 7.0, 0])}
    model = tw.Model(tw.load(tmp_path / "model").labels, None, {**arrays, **ends}, {"learner": "crf"})
    model.save(tmp_path / "ends")
    tagger = opened(ours, tmp_path / "ends")
    for items in ([["w=1"]], [["w=1"], ["w=2"], []]):
        best = model.tag_kbest([items], 1, proba=True)[0][0]
        assert tagger.tag(items) == best.labels
        assert tagger.probability(best.labels) == pytest.approx(best.probability, rel=1e-5)


def _saved(folder):
    trained(ours, folder / "model")
    return folder / "model"


def test_dump_and_info(tmp_path, capsys):
    trained(theirs, tmp_path / "model")
    mine, other = opened(ours, tmp_path / "model"), opened(theirs, tmp_path / "model")
    info, expected = mine.info(), other.info()
    for name in ("labels", "attributes"):
        assert getattr(info, name) == getattr(expected, name)
    for name in ("transitions", "state_features"):
        assert {key: round(weight, 6) for key, weight in getattr(info, name).items() if abs(weight) > 1e-6} == {
            key: weight for key, weight in getattr(expected, name).items() if abs(weight) > 1e-6
        }
    same = {key: value for key, value in expected.header.items() if not key.startswith(("off_", "num_features"))}
    assert same.items() <= info.header.items()
    mine.dump(tmp_path / "mine.txt")
    from pycrfsuite._dumpparser import CRFsuiteDumpParser

    parser, own = CRFsuiteDumpParser(), ours._dumpparser.CRFsuiteDumpParser()
    for line in (tmp_path / "mine.txt").read_text(encoding="utf-8").splitlines(keepends=True):
        parser.feed(line)
        own.feed(line)
    assert vars(parser.result) == vars(own.result)
    assert parser.result.labels == info.labels
    mine.dump()
    assert capsys.readouterr().out == (tmp_path / "mine.txt").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="not a line"):
        own.feed("something else")


class Recording(ours.Trainer):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.called = []

    def on_start(self, log):
        self.called.append("start")

    def on_featgen_progress(self, log, percent):
        self.called.append(percent)

    def on_iteration(self, log, info):
        self.called.append(info["num"])

    def on_end(self, log):
        self.called.append("end")


def test_holdout_and_events(tmp_path, capsys):
    trainer = Recording("lbfgs", {"max_iterations": 3, "c2": 0.01})
    for group in (0, 1):
        trainer.append(WEATHER, SKY, group)
    trainer.train(tmp_path / "model", holdout=1)
    assert trainer.called == ["start", *range(0, 102, 2), 1, 2, 3, "end"]
    last = trainer.logparser.last_iteration
    assert set(last["scores"]) == set(SKY)
    assert last["scores"]["sunny"].ref == 2
    assert last["item_accuracy_float"] == 1
    assert "L-BFGS optimization" in capsys.readouterr().out
    # Their parser reads our log as ours does.
    from pycrfsuite._logparser import TrainLogParser

    parser = TrainLogParser()
    assert [parser.feed(line) for line in trainer.logparser.log] == [
        event for parser in [ours._logparser.TrainLogParser()] for event in map(parser.feed, trainer.logparser.log)
    ]
    assert parser.last_iteration["loss"] == last["loss"]
    assert parser.events == trainer.logparser.events


def test_our_parser_reads_their_log_as_theirs_does(tmp_path):
    for algorithm in ("lbfgs", "l2sgd", "ap"):
        other = theirs.Trainer(algorithm, {"max_iterations": 4}, verbose=False)
        for group in (0, 1):
            other.append(WEATHER, SKY, group)
        other.train(str(tmp_path / "model"), 1)
        mine = ours._logparser.TrainLogParser()
        for line in other.logparser.log:
            mine.feed(line)
        assert mine.events == other.logparser.events
        assert mine.iterations == other.logparser.iterations
        for name in ("featgen_percent", "featgen_num_features", "training_seconds", "last_log"):
            assert getattr(mine, name) == getattr(other.logparser, name)


def test_messages_of_base_trainers_and_errors_in_hooks(tmp_path, capsys):
    trainer = ours.BaseTrainer(verbose=True)
    trainer.append(WEATHER, SKY)
    trainer.train(tmp_path / "model")
    assert "Number of features: " in capsys.readouterr().out

    class Failing(ours.Trainer):
        def on_iteration(self, log, info):
            raise KeyError(info["num"])

    failing = Failing()
    failing.append(WEATHER, SKY)
    with pytest.raises(KeyError, match="1"):
        failing.train(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_training_without_sentences_and_clear(tmp_path):
    trainer = ours.Trainer(verbose=False)
    trainer.append(WEATHER, SKY)
    trainer.clear()
    trainer.train(tmp_path / "model")
    opened(ours, tmp_path / "model")
    trainer.train("")  # writes nothing


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


def test_install_registers_the_module():
    found = run_python(
        "from tagwright.compat import crfsuite; crfsuite.install(); crfsuite.install()\n"
        "import pycrfsuite, pycrfsuite._pycrfsuite, sys\n"
        "from pycrfsuite._logparser import TrainLogParser\n"
        "from pycrfsuite._dumpparser import ParsedDump\n"
        "from pycrfsuite import *\n"
        "assert pycrfsuite.Tagger is crfsuite.Tagger is pycrfsuite._pycrfsuite.Tagger\n"
        "assert 'numpy' not in sys.modules and 'sklearn' not in sys.modules\n"
    )
    assert found.returncode == 0, found.stderr
    found = run_python("import pycrfsuite\nfrom tagwright.compat import crfsuite\ncrfsuite.install()")
    assert "already imported" in found.stderr
    found = run_python("import tagwright as tw, sys; tw.load(); assert 'tagwright.compat' not in sys.modules")
    assert found.returncode == 0, found.stderr
