"""Facts: users may put anything into them, and a model still tags, is described, saved and read again."""

import itertools
import json
import pickle

import pytest
from support.commands import columns, complaint, printed, run
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.models.facts import fact_in, label_column

X10, Y10 = ten_sentences()
MODELS = {
    "perceptron": tw.Perceptron(features="U:%x[0,0]\nB\n", epochs=2).fit(X10, Y10).model_,
    "hmm": tw.HMM().fit(X10, Y10).model_,
    "memm": tw.MEMM(features="U:%x[0,0]\n", solver=tw.LBFGS(max_iterations=3)).fit(X10, Y10).model_,
}
MODELS["bidirectional"] = tw.Bidirectional(MODELS["memm"], MODELS["memm"]).fit().model_

JUNK = ["our corpus", 5, None, [], ["a"], {}, {"label": 3}, {"label": "ours", "blanks": "two"}, True, 1.5, {"": {}}]
NAMES = [
    "data", "options", "learner", "sentences", "tokens", "epochs_done", "version", "attribution", "first_only", "memm",
    "bidirectional", "backoff", "mine",
]  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    """Makes a copy of a model by way of its file."""

    def make(name):
        MODELS[name].save(tmp_path / "copy")
        return tw.load(tmp_path / "copy")

    return make


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("facts") / "corpus.txt"
    path.write_text(columns(X10, Y10))
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", MODELS)
def test_junk_is_never_fatal(kind, name, copy, corpus, tmp_path):
    right = MODELS[kind].tag_batch(X10)
    for junk in JUNK:
        model = copy(kind)
        model.facts[name] = junk
        assert model.tag_batch(X10) == right
        assert model.tag_kbest(X10, 2)
        assert repr(model)
        assert pickle.loads(pickle.dumps(model)).tag_batch(X10) == right
        model.save(tmp_path / "m")
        assert tw.load(tmp_path / "m").tag_batch(X10) == right
    model.facts[name] = JUNK[0]
    model.save(tmp_path / "m")
    printed("info", tmp_path / "m")
    printed("eval", "-m", tmp_path / "m", corpus)
    printed("tag", "-m", tmp_path / "m", given="the dog\n")


@pytest.mark.parametrize("data", JUNK)
def test_how_the_corpus_was_read_may_be_anything(data, copy, corpus, tmp_path):
    model = copy("perceptron")
    expected = [printed(command, "-m", tmp_path / "copy", corpus) for command in ("tag", "eval")]
    model.facts["data"] = data
    model.save(tmp_path / "m")
    assert [printed(command, "-m", tmp_path / "m", corpus) for command in ("tag", "eval")] == expected
    assert run("info", tmp_path / "m").exit_code == 0


def test_facts_that_are_not_dict_at_all(copy, tmp_path):
    for kind, junk in itertools.product(MODELS, (None, "facts", [1])):
        model = copy(kind)
        model.facts = junk
        assert model.tag_batch(X10) == MODELS[kind].tag_batch(X10)
        model.save(tmp_path / "m")
        assert tw.load(tmp_path / "m").tag_batch(X10) == MODELS[kind].tag_batch(X10)


def test_info_shows_what_users_say(copy, tmp_path):
    model = copy("perceptron")
    model.facts |= {"data": "our corpus", "who made it": "the two of us", "epochs_done": ["many"]}
    model.save(tmp_path / "m")
    shown = printed("info", tmp_path / "m")
    for said in ("our corpus", "who made it", "the two of us", "['many']"):
        assert said in shown


def test_numbers_as_names_come_back_as_text(copy, tmp_path):
    """JSON has no other names, and 2 is before 10, but "10" before "2", on which a digest depends."""
    model = copy("perceptron")
    model.facts["runs"] = {2: "b", 10: "a"}
    model.save(tmp_path / "m")
    assert tw.load(tmp_path / "m").facts["runs"] == {"2": "b", "10": "a"}


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, float("nan"), float("inf"), "\ud800", 10**5000, {(1, 2): 3}],
    ids=["object", "set", "nan", "inf", "surrogate", "digits", "pair"],
)
def test_what_cannot_be_saved_is_reported_and_nothing_is_lost(value, copy, tmp_path):
    model = copy("perceptron")
    before = (tmp_path / "copy").read_bytes()
    model.facts["mine"] = value
    with pytest.raises(ValueError, match=r"the fact 'mine' cannot be saved: .*JSON must be able to hold it"):
        model.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == before


def test_options_that_users_change_are_kept_if_they_can_be(copy, tmp_path):
    model = copy("memm")
    model.facts["memm"] = {**model.facts["memm"], "beam": 3}
    model.save(tmp_path / "m")
    assert tw.load(tmp_path / "m").beam == 3
    for beam in (0, "wide", 10**400):
        model.facts["memm"] = {**model.facts["memm"], "beam": beam}
        model.save(tmp_path / "m")
        assert tw.load(tmp_path / "m").beam == 20


def test_facts_by_their_path():
    facts = {"data": {"label": "2+3", "blanks": True}, "learner": 5}
    assert fact_in(facts, str, "data", "label") == "2+3"
    assert fact_in(facts, int, "data", "blanks") is None
    assert fact_in(facts, str, "data", "label", "more") is None
    assert fact_in(facts, str, "learner") is None
    assert fact_in(None, dict) is None


@pytest.mark.parametrize(
    ("label", "right"), [("last", True), ("2+3", True), ("UPOS+feats", True), ("ours", False), ("", False), (3, False)]
)
def test_where_labels_were(label, right):
    assert label_column({"data": {"label": label}}) == (label if right else None)


def test_a_model_of_a_file_that_names_no_such_column(copy, corpus, tmp_path):
    """A column that could be one is requested; if it is missing, that is reported."""
    model = copy("perceptron")
    model.facts["data"] = {"label": "7"}
    model.save(tmp_path / "m")
    assert "no label column 7" in complaint("eval", "-m", tmp_path / "m", corpus)
    assert json.loads(printed("eval", "-m", tmp_path / "m", "-l", "2", "--json", corpus))["tokens"]
