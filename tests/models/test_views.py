"""A contract: every view of a model describes the same distribution over labellings.

Models of each kind, with and without a scheme, a tag dictionary and label n-grams, are applied to the same sentences in
every way there is: tagging, k best, lattice, marginals, spans, samples, explanations, reports, the command line and the
server. The truth is enumeration: the score of every labelling by the model's weights, without those that its scheme,
its tag dictionary or the limits of the call forbid.
"""

import asyncio
import functools
import itertools
import json
from typing import NamedTuple

import httpx
import numpy as np
import pytest
from support.commands import printed, run
from support.memory import measurable, megabytes

import tagwright as tw
from tagwright.models.explanation import compared
from tagwright.models.tagging import TagOptions
from tagwright.reports.collect import Tagged
from tagwright.reports.sentences import reasons_of
from tagwright.serve.app import Service, application
from tagwright.serve.metrics import Metrics
from tagwright.serve.settings import Settings

LABELS = ["O", "B-X", "I-X", "B-Y"]
WORDS = "abcdef"


def corpus():
    """Span labels at random, as BIO wants them; the words say a little about the labels."""
    rng = np.random.default_rng(5)
    X, y = [], []
    for _ in range(40):
        own = []
        for _ in range(rng.integers(1, 6)):
            may = [name for name in LABELS if name != "I-X" or (own and own[-1] in ("B-X", "I-X"))]
            own.append(str(rng.choice(may)))
        # A few words have one label only, which a tag dictionary learns.
        X.append(["f" if name == "B-Y" else str(rng.choice(list(WORDS[:5]))) for name in own])
        y.append(own)
    return X, y


X, Y = corpus()
SENTENCES = [["a", "b"], ["f"], ["f", "c", "a"], ["e", "zebra", "f", "b"], ["d", "d", "f"], ["b", "a", "e", "c"]]
FEATURES = "U:%x[0,0]\nU1:%x[-1,0]\nB\n"
LEARNERS = {
    "perceptron": functools.partial(tw.Perceptron, FEATURES, epochs=3),
    "perceptron with edge features": functools.partial(tw.Perceptron, FEATURES + "B1:%x[0,0]\n", epochs=3),
    "perceptron of order 2": functools.partial(tw.Perceptron, FEATURES, epochs=3, order=2),
    "crf": functools.partial(tw.CRF, FEATURES, solver=tw.LBFGS(l2=0.5)),
    "crf of order 2": functools.partial(tw.CRF, FEATURES, order=2, epochs=3),
    "hmm": tw.HMM,
}
OWN = {"nothing": None, "scheme": "BIO", "dictionary": 3, "scheme and dictionary": ["BIO", 3]}
CALLS = ["nothing", "pair", "allowed", "pair and allowed"]


class Call(NamedTuple):
    """Limits of one call, as Python takes them and as a request has them."""

    forbid: tuple[str, str] | None
    allowed: list[list[str] | None] | None

    def python(self):
        pair = None if self.forbid is None else tw.Constraints(LABELS, forbid=[self.forbid])
        return {"constraints": pair, "allowed": self.allowed}

    def request(self):
        made = {} if self.forbid is None else {"constraints": {"forbid": [self.forbid]}}
        return made if self.allowed is None else {**made, "allowed": [self.allowed]}


def call_of(name, sentence):
    forbid = ("O", "O") if "pair" in name else None
    allowed = [None] * len(sentence)
    allowed[-1] = ["O", "B-X", "I-X"]
    return Call(forbid, allowed if "allowed" in name else None)


@functools.cache
def trained(kind, own):
    return LEARNERS[kind](constraints=OWN[own]).fit(X, Y).model_


class Truth:
    """All labellings of a sentence that the limits leave, and their scores by the weights alone."""

    def __init__(self, model, own, sentence, call):
        plain = {name: array for name, array in model.arrays.items() if not name.startswith("constraints.")}
        nodes, edges, active = tw.Model(model.labels, model.features, plain, model.facts).lattice(sentence)
        known = {}
        for word, label in (
            (word, label) for pair in zip(X, Y, strict=True) for word, label in zip(*pair, strict=True)
        ):
            known.setdefault(word, []).append(label)
        self.labels = model.labels
        self.scores = {}
        for path in itertools.product(range(len(model.labels)), repeat=len(sentence)):
            names = [model.labels[y] for y in path]
            pairs = list(itertools.pairwise(["O", *names]))
            if "scheme" in own and any(q == "I-X" and p not in ("B-X", "I-X") for p, q in pairs):
                continue
            if call.forbid in pairs[1:]:
                continue
            lists = call.allowed or [None] * len(sentence)
            if any(its is not None and name not in its for its, name in zip(lists, names, strict=True)):
                continue
            if "dictionary" in own and any(
                its is None and len(known.get(word, ())) >= 3 and name not in known[word]
                for word, its, name in zip(sentence, lists, names, strict=True)
            ):
                continue
            score = tw.score(nodes, edges, list(path), active=active)
            if score > -np.inf:
                self.scores[tuple(names)] = score
        self.best = sorted(self.scores.values(), reverse=True)
        values = np.array(list(self.scores.values()))
        self.log_z = np.logaddexp.reduce(values) if len(values) else -np.inf

    def probability(self, holds):
        return sum(np.exp(score - self.log_z) for names, score in self.scores.items() if holds(names))

    def best_with(self, holds):
        return max((score for names, score in self.scores.items() if holds(names)), default=-np.inf)


@functools.cache
def truth_of(kind, own, name, sentence):
    return Truth(trained(kind, own), own, list(sentence), call_of(name, sentence))


def cases(kinds, owns=OWN, calls=CALLS):
    for kind, own, name, sentence in itertools.product(kinds, owns, calls, SENTENCES):
        yield trained(kind, own), sentence, call_of(name, sentence), truth_of(kind, own, name, tuple(sentence))


def is_best(truth, labels, score=None):
    """The labelling is one that the limits leave, and none is better."""
    assert tuple(labels) in truth.scores, labels
    assert truth.scores[tuple(labels)] == pytest.approx(truth.best[0], rel=1e-6, abs=1e-6)
    assert score is None or score == pytest.approx(truth.best[0], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", LEARNERS)
def test_tagging_k_best_and_lattice(kind):
    for model, sentence, call, truth in cases([kind]):
        given = call.python()
        many = {"constraints": given["constraints"], "allowed": None if call.allowed is None else [call.allowed]}
        if not truth.scores:
            for ask in (
                lambda m=model, s=sentence, g=given: m.tag(s, **g),
                lambda m=model, s=sentence, g=many: m.tag_batch([s], **g),
                lambda m=model, s=sentence, g=given: m.lattice(s, **g).decode(),
            ):
                with pytest.raises(ValueError, match=r"no path|no label"):
                    ask()
            continue
        is_best(truth, model.tag(sentence, **given))
        is_best(truth, model.tag_batch([sentence], **many)[0])
        for found in (
            model.tag_kbest([sentence], 4, **many)[0],
            model.tag_results([sentence], TagOptions(4, deadline=100.0), *many.values())[0].taggings,
        ):
            is_best(truth, found[0].labels, found[0].score)
            assert [own.score for own in found] == pytest.approx(truth.best[:4], rel=1e-6, abs=1e-6)
            assert all(truth.scores[tuple(own.labels)] == pytest.approx(own.score, abs=1e-6) for own in found)
        lattice = model.lattice(sentence, **given)
        nodes, edges, active = lattice
        for found in (lattice.decode(4), tw.decode(nodes, edges, 4, active=active)):
            assert [path.score for path in found.paths] == pytest.approx(truth.best[:4], rel=1e-6, abs=1e-6)
            is_best(truth, [model.labels[y] for y in found.paths[0].labels])
        # One more rule on top of those that the edges carry.
        more = tw.Constraints(model.labels, forbid=[("B-X", "I-X")])
        rest = [score for names, score in truth.scores.items() if ("B-X", "I-X") not in itertools.pairwise(names)]
        if rest:
            again = tw.decode(nodes, edges, 1, active=active, constraints=more).paths[0]
            assert again.score == pytest.approx(max(rest), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", ["crf", "crf of order 2", "hmm"])
def test_probabilities(kind):
    for model, sentence, call, truth in cases([kind]):
        if not truth.scores:
            continue
        given = call.python()
        many = {"constraints": given["constraints"], "allowed": None if call.allowed is None else [call.allowed]}
        T = len(sentence)
        expected = np.array(
            [[truth.probability(lambda own, t=t, y=y: own[t] == y) for y in model.labels] for t in range(T)]
        )
        lattice = model.lattice(sentence, **given)
        for found in (
            model.marginals([sentence], **many)[0],
            lattice.marginals().nodes,
            tw.marginals(*lattice[:2], active=lattice.active).nodes,
        ):
            assert found == pytest.approx(expected, abs=1e-5)
        best = model.tag_kbest([sentence], 2, proba=True, **many)[0]
        for own in best:
            assert own.probability == pytest.approx(np.exp(truth.scores[tuple(own.labels)] - truth.log_z), rel=1e-4)
        assert [p for _, p in model.tag(sentence, proba=True, **given)] == pytest.approx(
            [truth.probability(lambda own, t=t, y=y: own[t] == y) for t, y in enumerate(best[0].labels)], rel=1e-4
        )
        for span in () if model.edges.ngrams else model.spans(sentence, 3, **given):
            share = truth.probability(lambda own, span=span: span[:3] in spans_of(own))
            assert span.probability == pytest.approx(share, abs=1e-5)
        drawn = model.sample(sentence, 200, **given)
        assert {tuple(own) for own in drawn} <= set(truth.scores)


def spans_of(labels):
    found, start = [], None
    for t, (before, label, after) in enumerate(zip(["O", *labels], labels, [*labels[1:], "O"], strict=False)):
        if label == "O":
            continue
        if label[0] == "B" or before[2:] != label[2:] or before == "O":
            start = t
        if after[0] != "I" or after[2:] != label[2:]:
            found.append((label[2:], start, t + 1))
    return found


@pytest.mark.parametrize("kind", LEARNERS)
def test_explanations_and_reports(kind):
    for model, sentence, call, truth in cases([kind]):
        if not truth.scores:
            continue
        for t in range(len(sentence)):
            why = model.explain(sentence, t, **call.python())
            is_best(truth, why.reasons[0].labels, why.reasons[0].total)
            every = model.explain(sentence, t, model.labels, **call.python())
            for reason in every.reasons:
                best = truth.best_with(lambda own, t=t, y=reason.label: own[t] == y)
                assert reason.total == pytest.approx(best, rel=1e-6, abs=1e-6)
            if len(why.reasons) > 1:
                other = truth.best_with(lambda own, t=t, y=why.reasons[0].label: own[t] != y)
                assert why.reasons[1].total == pytest.approx(other, rel=1e-6, abs=1e-6)
                *rows, (last, total) = compared(why, 2)
                names = [name for name, _ in rows]
                summed = np.sum([row for _, row in rows[names.index("all features") :]], axis=0)
                assert summed == pytest.approx(total, abs=1e-5)
                assert last == "whole labelling"
                assert dict(rows)["rest of the sentence"] == pytest.approx([rest_of(model, r, t) for r in why.reasons])
        if call.forbid is None and call.allowed is None:
            wrong = Tagged(0, sentence, [LABELS[0]] * len(sentence), model.tag(sentence), None)
            for own in reasons_of(model, wrong, 4):
                total = {line.name: line for line in own.lines}["whole labelling"]
                assert total.predicted == pytest.approx(truth.best[0], rel=1e-6, abs=1e-6)
                gold = truth.best_with(lambda names, t=own.token: names[t] == LABELS[0])
                assert total.gold == pytest.approx(gold, rel=1e-6, abs=1e-6)


def rest_of(model, reason, t):
    """What a labelling scores without its token t: by taking the model's arrays apart."""
    arrays, path = model.arrays, [model.labels.index(name) for name in reason.labels]
    around = 0.0
    if "ngrams.score" in arrays:
        for ngram, score in zip(arrays["ngrams.labels"].reshape(-1, 4).tolist(), arrays["ngrams.score"], strict=True):
            own = [y for y in ngram if y != 65_535]
            for at in range(len(path) - len(own) + 1):
                if path[at : at + len(own)] == own and at <= t < at + len(own):
                    around += float(score)
    steps = [step.score for step in (reason.before, reason.after) if step]
    return reason.total - reason.score - sum(steps) - reason.start - reason.stop - around


async def answers(path, requests):
    service = Service(Settings(models=(("model", str(path)),), watch=0), Metrics(), stop=print)
    await service.store.open()
    transport = httpx.ASGITransport(application(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
        found = []
        for where, request in requests:
            found.append(await client.post(where, json=request))
        await service.end()
        return found


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("own", OWN)
def test_the_server(kind, own, tmp_path):
    trained(kind, own).save(tmp_path / "model.safetensors")
    target = list(cases([kind], [own]))
    requests = []
    for model, sentence, call, _ in target:
        common = {"sentences": [sentence], "k": 3, **call.request()}
        for more in ({}, {"work": True}, {"deadline_ms": 9000}):
            requests.append(("/v1/tag", {**common, **more, "proba": model.probabilistic}))
        requests.append(("/v1/lattice", common))
        requests.append(("/v1/explain", {"token": 0, **common}))
    found = iter(asyncio.run(answers(tmp_path / "model.safetensors", requests)))
    for model, _, _, truth in target:
        replies = [next(found) for _ in range(5)]
        if not truth.scores:
            assert [reply.status_code for reply in replies] == [422] * 5
            continue
        assert [reply.status_code for reply in replies] == [200] * 5, [reply.text for reply in replies]
        scores = pytest.approx(truth.best[:3], rel=1e-6, abs=1e-6)
        for reply in replies[:3]:
            answer = reply.json()["sentences"][0]
            is_best(truth, answer["labels"], answer["score"])
            assert answer["exact"] is True
            assert [one["score"] for one in answer["kbest"]] == scores
            if model.probabilistic:
                assert answer["probability"] == pytest.approx(np.exp(truth.best[0] - truth.log_z), rel=1e-4)
        view, why = replies[3].json(), replies[4].json()
        assert [one["score"] for one in view["kbest"]] == scores
        check_view(truth, view)
        is_best(truth, why["reasons"][0]["labels"], why["reasons"][0]["total"])


def check_view(truth, view):
    for t, column in enumerate(view["columns"]):
        for node in column:
            best = truth.best_with(lambda own, t=t, y=node["label"]: own[t] == y)
            behind = None if best == -np.inf else pytest.approx(truth.best[0] - best, abs=1e-4)
            assert node["behind"] == behind
            if view["probabilistic"]:
                share = truth.probability(lambda own, t=t, y=node["label"]: own[t] == y)
                assert node["probability"] == pytest.approx(share, abs=1e-5)
    for edge in view["edges"]:
        t = edge["token"]
        pair = tuple(view["columns"][at][edge[end]]["label"] for at, end in ((t, "from"), (t + 1, "to")))
        best = truth.best_with(lambda own, t=t, pair=pair: own[t : t + 2] == pair)
        assert edge["behind"] == pytest.approx(truth.best[0] - best, abs=1e-4)
        if view["probabilistic"]:
            share = truth.probability(lambda own, t=t, pair=pair: own[t : t + 2] == pair)
            assert edge["share"] == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("own", ["nothing", "scheme and dictionary"])
def test_what_the_server_draws_beside_the_lattice(kind, own, tmp_path):
    """Rivals, spans, changes, and what rules cost; also where only one label per token may be drawn."""
    trained(kind, own).save(tmp_path / "model.safetensors")
    target = [case for case in cases([kind], [own]) if case[-1].scores]
    requests = []
    for n, (_, sentence, call, _) in enumerate(target):
        common = {"sentences": [sentence], **call.request()}
        requests.append(("/v1/lattice", {**common, "k": 3, "nodes": 1}))
        requests.append(("/v1/explain", {**common, "token": n % len(sentence)}))
    found = iter(asyncio.run(answers(tmp_path / "model.safetensors", requests)))
    for n, (model, sentence, call, truth) in enumerate(target):
        view, why = next(found).json(), next(found).json()
        check_view(truth, view)
        check_rivals(truth, view, why, n % len(sentence))
        check_rows(why)
        check_spans(truth, view)
        for own_path in view["kbest"]:
            expected = [
                {"token": t, "word": word, "nth": sentence[: t + 1].count(word), "of": sentence.count(word)}
                | {"from": was, "to": now}
                for t, (word, was, now) in enumerate(
                    zip(sentence, view["kbest"][0]["labels"], own_path["labels"], strict=True)
                )
                if was != now
            ]
            assert own_path["changes"] == expected
        free = truth_of(kind, own, "nothing", tuple(sentence))
        beyond = "dictionary" in own and call.allowed is not None  # the list replaces that of the dictionary
        check_cost(view, truth, free, (bool(call.request()), beyond, model.probabilistic))


def check_rivals(truth, view, why, t):
    first, *others = why["reasons"]
    is_best(truth, first["labels"], first["total"])
    drawn = {node["label"] for node in view["columns"][t]}
    assert {reason["label"] for reason in why["reasons"]} <= drawn
    for at, rival in enumerate(view["rivals"]):
        best = view["kbest"][0]["labels"][at]
        other = truth.best_with(lambda names, at=at, best=best: names[at] != best)
        if rival is None:
            assert other == -np.inf
            continue
        assert rival["margin"] == pytest.approx(truth.best[0] - other, abs=1e-4)
        assert truth.best_with(lambda names, at=at, y=rival["label"]: names[at] == y) == pytest.approx(other, abs=1e-4)
        assert [node["label"] for node in view["columns"][at] if node["rival"]] == [rival["label"]]
    if others:
        assert view["rivals"][t]["label"] == others[0]["label"]
        assert view["rivals"][t]["margin"] == pytest.approx(why["margin"], abs=1e-4)


def check_rows(why):
    """Rows from the sum of the features on add up to the score of the whole labelling; features add up to theirs."""
    rows = why["rows"]
    at = [row["kind"] for row in rows].index("features")
    assert {row["kind"] for row in rows[:at]} <= {"feature"}
    assert rows[-1]["kind"] == "total"
    for n, reason in enumerate(why["reasons"]):
        assert rows[-1]["scores"][n] == reason["total"]
        assert sum(row["scores"][n] for row in rows[at:-1]) == pytest.approx(reason["total"], abs=1e-5)
        if rows[at]["scores"][n] is not None and at:
            assert sum(row["scores"][n] for row in rows[:at]) == pytest.approx(rows[at]["scores"][n], abs=1e-4)
        ngrams = [row["scores"][n] for row in rows if row["kind"] == "ngram"]
        assert sum(ngrams) == pytest.approx(sum(one["score"] for one in reason["ngrams"]), abs=1e-5)


def check_spans(truth, view):
    expected = spans_of(view["kbest"][0]["labels"])
    assert [(span["label"], span["start"], span["end"]) for span in view["spans"]] == expected
    for span, (label, start, end) in zip(view["spans"], expected, strict=True):
        if view["probabilistic"]:
            share = truth.probability(lambda own, span=(label, start, end): span in spans_of(own))
            assert span["probability"] == pytest.approx(share, abs=1e-5)
        else:
            assert "probability" not in span


def check_cost(view, truth, free, about):
    given, beyond, probabilistic = about
    if not given:
        assert view["cost"] is None
        return
    cost = view["cost"]
    labels = tuple(view["kbest"][0]["labels"])
    assert cost["score"] == pytest.approx(free.best[0] - truth.best[0], abs=1e-4)
    assert free.scores[tuple(cost["unconstrained"]["labels"])] == pytest.approx(free.best[0], abs=1e-4)
    assert cost["unconstrained"]["score"] == pytest.approx(free.best[0], abs=1e-4)
    if not probabilistic:
        assert cost["probability"] is cost["rules"] is cost["unconstrained"]["probability"] is None
        return
    assert cost["unconstrained"]["probability"] == pytest.approx(np.exp(free.best[0] - free.log_z), rel=1e-4)
    assert cost["probability"] == pytest.approx(free.probability(lambda own: own == labels), rel=1e-4, abs=1e-9)
    if cost["rules"] is None:
        assert beyond
    else:
        assert set(truth.scores) <= set(free.scores)
        share = free.probability(lambda own: own in truth.scores)
        assert cost["rules"] == pytest.approx(share, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("own", OWN)
def test_the_command_line(kind, own, tmp_path):
    trained(kind, own).save(tmp_path / "model.safetensors")
    text = "\n".join("".join(f"{word}\n" for word in sentence) for sentence in SENTENCES) + "\n"
    (tmp_path / "text.txt").write_text(text)
    common = ("tag", "-m", tmp_path / "model.safetensors", tmp_path / "text.txt", "--format", "columns")
    lines = printed(*common, "--json").splitlines()
    blocks = [block.split("\n") for block in printed(*common).strip().split("\n\n")]
    for (_, _, _, truth), line, block in zip(cases([kind], [own], ["nothing"]), lines, blocks, strict=True):
        is_best(truth, json.loads(line)["labels"], json.loads(line)["score"])
        is_best(truth, [row.split("\t")[-1] for row in block])


MEMMS = {
    "memm": tw.MEMM(FEATURES + "UY:%y[-1]\n", spans=False, solver=tw.LBFGS(l2=0.5)),
    "memm with spans": tw.MEMM(FEATURES + "UY:%y[-1]\n", solver=tw.LBFGS(l2=0.5)),
    "memm with spans and dictionary": tw.MEMM(FEATURES + "UY:%y[-1]\n", dictionary=3, solver=tw.LBFGS(l2=0.5)),
    "leftward memm": tw.MEMM(FEATURES + "UY:%y[-1]\n", direction="left", dictionary=3, solver=tw.LBFGS(l2=0.5)),
    "memm under constraints": tw.MEMM(FEATURES + "UY:%y[-1]\n", constraints=["BIO", 3], solver=tw.LBFGS(l2=0.5)),
    "long history": tw.MEMM(FEATURES + "UY:%y[-1]\nUY2:%y[-2]/%y[-1]\n", dictionary=3, solver=tw.LBFGS(l2=0.5)),
}


@functools.cache
def searched(kind):
    if kind == "bidirectional":
        return tw.Bidirectional(trained("crf", "scheme and dictionary"), trained("perceptron", "nothing")).fit().model_
    return MEMMS[kind].fit(X, Y).model_


@pytest.mark.parametrize("kind", [*MEMMS, "bidirectional"])
def test_models_that_search(kind, tmp_path):
    """A MEMM's beam holds all histories here, so that it is exact; where it is a lattice, that has the same best."""
    model = searched(kind)
    model.save(tmp_path / "model.safetensors")
    requests, expected = [], []
    for sentence in SENTENCES:
        for name in CALLS:
            call = call_of(name, sentence)
            given = call.python()
            many = {"constraints": given["constraints"], "allowed": None if call.allowed is None else [call.allowed]}
            best = model.tag_kbest([sentence], 3, **many)[0]
            assert model.tag(sentence, **given) == best[0].labels
            assert model.tag_batch([sentence], **many)[0] == best[0].labels
            assert call.forbid not in itertools.pairwise(best[0].labels)
            assert call.allowed is None or best[0].labels[-1] in call.allowed[-1]
            if "lattice" not in model.lacks and model.order <= 1:
                found = model.lattice(sentence, **given).decode(3)
                assert [path.score for path in found.paths] == pytest.approx([own.score for own in best])
                assert [model.labels[y] for y in found.paths[0].labels] == best[0].labels
                assert model.tag(sentence, "viterbi", **given) == best[0].labels
            common = {"sentences": [sentence], "k": 3, **call.request()}
            for more in ({}, {"work": True}):
                requests.append(("/v1/tag", {**common, **more}))
                expected.append([own.labels for own in best])
    for reply, labels in zip(asyncio.run(answers(tmp_path / "model.safetensors", requests)), expected, strict=True):
        assert reply.status_code == 200, reply.text
        assert [one["labels"] for one in reply.json()["sentences"][0]["kbest"]] == labels


def test_one_more_rule_for_a_model_with_a_scheme_and_sparse_edges():
    """Rules compose where edges are sparse; the truth is a dense matrix with -inf wherever either forbids."""
    rng = np.random.default_rng(9)
    labels = ["O", *(f"{prefix}-{kind}" for kind in range(60) for prefix in "BI")]
    X, y = [], []
    for _ in range(60):
        own = ["O"]
        for _ in range(rng.integers(2, 8)):
            inside = own[-1] != "O" and rng.random() < 0.5
            own.append(f"I{own[-1][1:]}" if inside else str(rng.choice(labels[:1] + labels[1::2])))
        y.append(own)
        X.append([str(rng.integers(0, 20)) for _ in own])
    model = tw.Perceptron(FEATURES, epochs=2, constraints="BIO").fit(X, y).model_
    assert model.edges.sparse
    forbid = [(label, "O") for label in model.labels if label != "O"]
    more = tw.Constraints(model.labels, forbid=forbid)
    L = len(model.labels)
    arrays = {name: array for name, array in model.arrays.items() if not name.startswith("constraints.")}
    plain = tw.Model(model.labels, model.features, arrays, model.facts)
    dense = np.zeros((L, L))
    dense[model.arrays["edges.previous"], model.arrays["edges.current"]] = model.arrays["edges.score"]
    for (i, p), (j, q) in itertools.product(enumerate(model.labels), repeat=2):
        if (q[0] == "I" and p[1:] != q[1:]) or (p, q) in forbid:
            dense[i, j] = -np.inf
    start = np.array([-np.inf if name[0] == "I" else 0.0 for name in model.labels])
    start += model.arrays.get("start", 0.0)
    edges = tw.Edges(dense, start=start, stop=model.arrays.get("stop"), sparse=False)
    for words in X:
        nodes = plain.lattice(words).nodes
        best = tw.decode(nodes, edges, 3).paths
        for found in (
            model.tag_kbest([words], 3, constraints=more)[0],
            model.lattice(words, constraints=more).decode(3).paths,
            tw.decode(*model.lattice(words)[:2], 3, constraints=more).paths,
        ):
            assert [own.score for own in found] == pytest.approx([path.score for path in best], rel=1e-6)
        labels = model.tag(words, constraints=more)
        assert tw.score(nodes, edges, [model.labels.index(name) for name in labels]) == pytest.approx(best[0].score)


MANY_CALLS = """
import numpy as np, tagwright as tw
labels = ["O", *(f"{prefix}-{kind}" for kind in range(100) for prefix in "BI")]
rng = np.random.default_rng(2)
y = [["O", *(f"B-{kind}" for kind in rng.integers(0, 100, 5))] for _ in range(40)]
y.append(["O", *(label for label in labels[1:])])
X = [[str(rng.integers(0, 30)) for _ in own] for own in y]
models = [
    tw.Perceptron("U:%x[0,0]\\nB\\n", epochs=1).fit(X, y).model_,
    tw.HMM().fit(X, y).model_,
]
models.append(tw.Bidirectional(*models).fit().model_)
def call():
    for model in models:
        model.tag(["1", "2"], constraints=tw.Constraints(model.labels, "BIO"))
        model.tag(["1", "2"], constraints="BIO")
for _ in range(50):
    call()
begin()
for _ in range(1000):
    call()
"""


@measurable
def test_constraints_of_calls_do_not_accumulate():
    """Each call used to keep its constraints, and the edges under them: 218 kB."""
    assert megabytes(MANY_CALLS) < 20


def test_posterior_needs_probabilities_wherever_it_is_named(tmp_path):
    model = trained("perceptron", "nothing")
    message = "the scores of a perceptron are not probabilities"
    for ask in (
        lambda: model.tag(["a"], "posterior"),
        lambda: model.tag_batch([["a"]], "posterior"),
        lambda: model.tag_batch([["a"]], "posterior", constraints="BIO"),
        lambda: model.tag_kbest([["a"]], 1, "posterior"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
    model.save(tmp_path / "model.safetensors")
    (tmp_path / "text.txt").write_text("a\tx\nb\tx\n\n" * 3)
    for more in ([], ["--json"]):
        said = run("tag", "-m", tmp_path / "model.safetensors", "--decoder", "posterior", *more, tmp_path / "text.txt")
        assert said.exit_code != 0
        assert message in said.stderr


def test_a_batch_is_not_one_sentence():
    english = tw.load()
    for ask in (english.tag, english.lattice, english.spans, lambda X: english.explain(X, 0), english.sample):
        with pytest.raises(ValueError, match=r"token 0 has 2 columns, .* trained on tokens of 1; use tag_batch"):
            ask([["the", "dog"]])
    assert english.tag_batch([["the", "dog"]]) == [english.tag(["the", "dog"])]
    # Columns that no template reads are no mistake.
    rows = [[[word, "x"] for word in words] for words in X]
    model = tw.Perceptron(FEATURES, epochs=1).fit(rows, Y).model_
    assert model.tag(rows[0]) == model.tag_batch(rows)[0]
    for trained_on in (X, [[[word] for word in words] for words in X]):
        own = tw.Perceptron(FEATURES, epochs=1).fit(trained_on, Y).model_
        with pytest.raises(ValueError, match=r"token 0 has 3 columns, .* trained on tokens of 1; use tag_batch"):
            own.tag([["a", "b", "c"]])


def test_a_labelling_that_span_rules_would_avoid_is_found():
    """The constraints leave labellings only that the model's own span rules, which are soft, forbid."""
    for direction, width in itertools.product(("right", "left"), (1, 3, 20)):
        memm = tw.MEMM(FEATURES + "UY:%y[-1]\n", beam=width, direction=direction, solver=tw.LBFGS(l2=0.5))
        model = memm.fit(X, Y).model_
        forbid = [(p, q) for p in ("B-X", "I-X") for q in ("I-X",)] + [("B-Y", name) for name in LABELS]
        rules = tw.Constraints(model.labels, forbid=forbid)
        allowed = [None, None, ["I-X"], None]
        found = model.tag(["a", "b", "c", "d"], constraints=rules, allowed=allowed)
        assert found[2] == "I-X"
        assert not set(forbid) & set(itertools.pairwise(found))
        with pytest.raises(ValueError, match="no path: the constraints and the allowed labels leave no labelling"):
            model.tag(["a", "b"], constraints=rules, allowed=[["B-Y"], None])
