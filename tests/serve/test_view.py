"""What the server says of models of every kind, beside the models' own answers."""

import asyncio
import json

import httpx
import numpy as np
import pytest
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.serve.app import Service, application
from tagwright.serve.metrics import Metrics
from tagwright.serve.settings import Settings

X10, Y10 = ten_sentences()
SPANS = [["B-NP" if label == "DT" else "I-NP" if label.startswith("N") else "O" for label in own] for own in Y10]
for _own in SPANS:  # as BIO wants them
    for _t, _label in enumerate(_own):
        if _label == "I-NP" and (_t == 0 or _own[_t - 1] == "O"):
            _own[_t] = "B-NP"
TEXT = "U:%x[0,0]\nU1:%x[-1,0]\nU2:%suffix[0,0,2]\nB\n"
FEW = tw.LBFGS(l2=0.5, max_iterations=20)
ROWS = [[[word, label] for word, label in zip(*pair, strict=True)] for pair in zip(X10, Y10, strict=True)]


def many_labels():
    """1,700 labels, of which each word has a few."""
    rng = np.random.default_rng(3)
    X = [[f"w{n % 300}", *(f"w{rng.integers(300)}" for _ in range(2))] for n in range(1700)]
    y = [[f"L{n:04}", *(f"L{rng.integers(1700):04}" for _ in range(2))] for n in range(1700)]
    return X, y


def memm(**options):
    return tw.MEMM("pos", solver=FEW, **options)


KINDS = {
    "perceptron": lambda: tw.Perceptron(TEXT, epochs=3).fit(X10, Y10),
    "perceptron of order 2": lambda: tw.Perceptron(TEXT, epochs=3, order=2).fit(X10, Y10),
    "crf": lambda: tw.CRF(TEXT, solver=FEW).fit(X10, Y10),
    "crf of order 2": lambda: tw.CRF(TEXT, order=2, epochs=3).fit(X10, Y10),
    "hmm": lambda: tw.HMM().fit(X10, Y10),
    "memm": lambda: memm(history=2).fit(X10, Y10),
    "memm of history 1": lambda: memm(history=1).fit(X10, Y10),
    "bidirectional": lambda: tw.Bidirectional(memm(history=1), memm(history=1, direction="left")).fit(X10, Y10),
    "dictionary": lambda: tw.CRF(TEXT, solver=FEW, constraints=2).fit(X10, Y10),
    "scheme": lambda: tw.CRF(TEXT, solver=FEW, constraints="BIO").fit(X10, SPANS),
    "scheme of order 2": lambda: tw.CRF(TEXT, order=2, epochs=3, constraints="BIO").fit(X10, SPANS),
    "1,700 labels": lambda: tw.CRF("U:%x[0,0]\nB\n", epochs=1).fit(*many_labels()),
    "columns": lambda: tw.CRF("U:%x[0,0]\nU1:%x[0,1]/%x[-1,0]\nB\n", solver=FEW).fit(ROWS, SPANS),
    "features": lambda: tw.CRF(features=None, solver=FEW).fit([[{"word": w} for w in own] for own in X10], Y10),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory):
    """A model, and a function that sends requests to a server of it."""
    made = KINDS[request.param]().model_
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    made.save(path)

    def ask(*requests):
        async def answered():
            service = Service(Settings(models=(("model", str(path)),), watch=0), Metrics(), stop=print)
            await service.store.open()
            transport = httpx.ASGITransport(application(service))
            async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
                found = [await client.get("/v1/models")]
                found += [await client.post(where, json=payload) for where, payload in requests]
                await service.end()
                return found

        return asyncio.run(answered())

    return request.param, made, ask


def sentence_of(kind):
    if kind == "columns":
        return [["the", "DT"], ["dog", "NN"], ["sees", "VBZ"], ["the", "DT"], ["dog", "NN"]]
    if kind == "features":
        return [{"word": word} for word in ("the", "dog", "sees", "the", "dog")]
    return ["w1", "w2", "w1"] if kind == "1,700 labels" else ["the", "dog", "sees", "the", "dog"]


def described(models):
    return models.json()["models"][0]


def test_every_view_agrees_with_the_model(model):
    kind, own, ask = model
    sentence = sentence_of(kind)
    request = {"sentences": [sentence], "k": 3}
    models, tagged, view = ask(("/v1/tag", {**request, "proba": own.probabilistic}), ("/v1/lattice", request))
    about = described(models)
    best = own.tag_kbest([sentence], 3, proba=own.probabilistic)[0]
    assert tagged.status_code == view.status_code == 200, view.text
    view = view.json()
    for answer in (tagged.json()["sentences"][0]["kbest"], view["kbest"]):
        assert [one["labels"] for one in answer] == [one.labels for one in best]
        assert [one["score"] for one in answer] == pytest.approx([one.score for one in best], rel=1e-6)
        if own.probabilistic:
            assert [one["probability"] for one in answer] == pytest.approx([p.probability for p in best], rel=1e-3)
            for one, found in zip(answer, best, strict=True):
                assert one["marginals"] == pytest.approx(found.marginals, rel=1e-3, abs=1e-6)
    assert view["probabilistic"] == own.probabilistic == ("probabilities" not in about["lacks"])
    assert view["lattice"] == ("lattice" not in about["lacks"])
    assert len(view["columns"]) == (len(sentence) if view["lattice"] else 0)
    if own.probabilistic:
        shares = own.marginals([sentence])[0]
        for column, row in zip(view["columns"], shares, strict=True):
            for node in column:
                assert node["probability"] == pytest.approx(row[own.labels.index(node["label"])], abs=1e-5)
    assert own.tag(sentence) == view["kbest"][0]["labels"]
    assert (view["spans"] is None) == (about["scheme"] is None)
    if view["lattice"]:
        check_labels_drawn(own, sentence, view, about, ask)


def check_labels_drawn(own, sentence, view, about, ask):
    """What explanations name is among the labels, and rivals are those of explanations."""
    least = {"sentences": [sentence], "nodes": 1}
    _, few, *whys = ask(("/v1/lattice", least), *(("/v1/explain", {**least, "token": t}) for t in range(len(sentence))))
    for t, (column, rival, why) in enumerate(zip(few.json()["columns"], view["rivals"], whys, strict=True)):
        if not about["explains"]:
            assert why.json()["error"]["what"] == about["lacks"]["explain"]
            continue
        found = own.explain(sentence, t)
        assert [reason["label"] for reason in why.json()["reasons"]] == [reason.label for reason in found.reasons]
        assert {reason.label for reason in found.reasons} <= {node["label"] for node in column}
        if len(found.reasons) > 1:
            assert rival["label"] == found.reasons[1].label
            assert rival["margin"] == pytest.approx(found.margin, rel=1e-5, abs=1e-5)
        assert why.json()["descriptions"] == found.descriptions


def test_decoders_are_those_that_answer(model):
    """What the description lists is answered, and what it refuses is the same error everywhere."""
    kind, own, ask = model
    about = described(*ask())
    names = [row.name for row in tw.decoders()]
    assert sorted([*about["decoders"], *about["refused"]]) == sorted(names)
    base = {"sentences": [sentence_of(kind)]}
    tested = ["auto", "beam", "astar", "tree", "posterior"] if kind == "1,700 labels" else names
    requests = [(where, {**base, "decoder": name}) for name in tested for where in ("/v1/tag", "/v1/lattice")]
    _, *found = ask(*requests)
    for (where, request), reply in zip(requests, found, strict=True):
        name = request["decoder"]
        if name in about["refused"]:
            assert reply.status_code == 422
            assert reply.json()["error"]["where"] == "decoder"
            assert reply.json()["error"]["what"] == about["refused"][name]
            continue
        assert reply.status_code == 200, (where, name, reply.text)
        answer = reply.json() if where == "/v1/lattice" else reply.json()["sentences"][0]
        labels = answer["kbest"][0]["labels"] if where == "/v1/lattice" else answer["labels"]
        assert labels == own.tag(sentence_of(kind), name)
        if name == "posterior":
            assert answer["exact"] is answer["gap"] is None
            assert where == "/v1/tag" or answer["maximises"] == "expected right tokens"


def test_what_a_model_lacks_is_one_error(model):
    """Probabilities by any way of asking for them, and explanations."""
    kind, own, ask = model
    base = {"sentences": [sentence_of(kind)]}
    paths = ("/v1/tag", "/v1/lattice", "/v1/explain")
    models, *found = ask(*((path, {**base, "proba": True}) for path in paths))
    about = described(models)
    for path, reply in zip(paths, found, strict=True):
        if not own.probabilistic:
            assert reply.status_code == 422
            assert reply.json()["error"] == {
                "what": about["lacks"]["probabilities"],
                "where": "proba",
                "fix": reply.json()["error"]["fix"],
            }
        elif path != "/v1/explain" or about["explains"]:
            assert reply.status_code == 200, reply.text


def test_examples_are_in_the_format_of_the_model(model):
    kind, own, ask = model
    about = described(*ask())
    assert about["examples"]
    for text in about["examples"]:
        if about["reads"] == "text":
            request = {"text": text}
        elif about["reads"] == "features":
            request = {"sentences": [json.loads(text)]}
        else:
            request = {"sentences": [[line.split("\t") for line in text.split("\n")]]}
        _, reply = ask(("/v1/tag", request))
        assert reply.status_code == 200, reply.text
        assert len(reply.json()["sentences"][0]["labels"]) > 1
    card = about["card"]
    assert card["labels"] == len(own.labels)
    assert card["order"] == about["order"]
    assert card["order"] == (2 if "order 2" in kind or kind == "memm" else 1)
    assert ("scheme BIO" in card["constraints"]) == kind.startswith("scheme")
    assert any("tag dictionary" in rule for rule in card["constraints"]) == (kind == "dictionary")
    assert [column["read"] for column in about["input"]["columns"]] == [True] * own.columns
    if kind == "columns":
        assert [column["templates"] for column in about["input"]["columns"]] == [
            ["U:%x[0,0]", "U1:%x[0,1]/%x[-1,0]"],
            ["U1:%x[0,1]/%x[-1,0]"],
        ]


def app(*models):
    """Return a function that sends requests to a server of these models."""

    def ask(path, payload, status=200):
        async def answered():
            service = Service(Settings(models=models, watch=0), Metrics(), stop=print)
            await service.store.open()
            transport = httpx.ASGITransport(application(service))
            async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
                reply = await (client.get(path) if payload is None else client.post(path, json=payload))
                await service.end()
                return reply

        reply = asyncio.run(answered())
        assert reply.status_code == status, reply.text
        return reply.json()

    return ask


@pytest.fixture(scope="module")
def english():
    return app(("english", None))


@pytest.mark.parametrize("name", ["allowed", "forbidden"])
def test_rules_belong_to_the_sentence_of_their_number(english, name):
    sentences = [["Time", "flies"], ["They", "fish"], ["Dogs", "bark"]]
    rules = [{"0": ["VB"]}, {"1": ["NN", "VB"]}]
    model = tw.load()
    numbers = [y for y, label in enumerate(model.labels) if (label in ("NN", "VB")) == (name == "allowed")]
    expected = [model.tag(sentences[1], allowed=[None, numbers]), model.tag(sentences[2])]
    for s, labels in zip((1, 2), expected, strict=True):
        reply = english("/v1/lattice", {"sentences": sentences, name: rules, "sentence": s})
        assert reply["tokens"] == sentences[s]
        assert reply["kbest"][0]["labels"] == labels
        assert (reply["cost"] is None) == (s == 2)
        reply = english("/v1/explain", {"sentences": sentences, name: rules, "sentence": s, "token": 1})
        assert reply["reasons"][0]["labels"] == labels
    many = english("/v1/tag", {"sentences": sentences, name: rules})["sentences"]
    assert [own["labels"] for own in many[1:]] == expected


def test_the_label_that_a_decoder_chose_is_explained_and_its_path_is_drawn(tmp_path):
    rng = np.random.default_rng(3)
    X = [[str(word) for word in rng.choice(list("abcdefgh"), 5)] for _ in range(12)]
    y = [[f"L{label}" for label in rng.integers(0, 8, 5)] for _ in X]
    solver = tw.AdaGrad(rate=0.05)
    model = tw.CRF(TEXT, epochs=1, solver=solver).fit(X, y).model_
    model.save(tmp_path / "flat")
    ask, differ = app(("flat", str(tmp_path / "flat"))), 0
    for sentence in X:
        request = {"sentences": [sentence], "decoder": "posterior"}
        view = ask("/v1/lattice", request)
        labels = view["kbest"][0]["labels"]
        assert labels == model.tag(sentence, decoder="posterior")
        differ += labels != model.tag(sentence)
        assert sum(edge["best"] for edge in view["edges"]) == len(sentence) - 1
        for t in (0, 3):
            assert ask("/v1/explain", {**request, "token": t})["reasons"][0]["label"] == labels[t]
        forced = ask("/v1/lattice", {**request, "allowed": [{"1": ["L1"]}]})
        assert forced["cost"]["score"] is None
        assert forced["cost"]["probability"] is not None
    assert differ


def test_equal_words_and_requested_labels(english):
    words = ["The", "dog", "that", "I", "saw", "saw", "me", "too", "."]
    reply = english("/v1/lattice", {"sentences": [words], "k": 8, "nodes": 3, "labels": ["UH", "CD"]})
    named = {(one["token"], one["nth"], one["of"]) for path in reply["kbest"] for one in path["changes"]}
    assert named <= {(t, words[: t + 1].count(word), words.count(word)) for t, word in enumerate(words)}
    assert all({"UH", "CD"} <= {node["label"] for node in column} for column in reply["columns"])
    model = tw.load()
    shares = model.marginals([words])[0]
    for t, column in enumerate(reply["columns"]):
        for node in column:
            assert node["probability"] == pytest.approx(shares[t, model.labels.index(node["label"])], abs=1e-5)


def test_words_that_a_tokeniser_would_split(english, tmp_path):
    assert english("/v1/lattice", {"text": "Time flies like an arrow."})["glued"] == []
    glued = english("/v1/lattice", {"text": "Time flies like an arrow.", "tokenize": "whitespace"})["glued"]
    assert glued == [{"token": 4, "pieces": ["arrow", "."]}]
    about = english("/v1/models", None)["models"][0]
    assert about["input"]["detached"] is True
    plain = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    plain.save(tmp_path / "plain")
    assert app(("plain", str(tmp_path / "plain")))("/v1/models", None)["models"][0]["input"]["detached"] is False


def test_examples_and_dev_accuracy_that_a_model_holds(tmp_path):
    learner = tw.Perceptron(TEXT, epochs=3).fit(X10, Y10, dev=(X10[:3], Y10[:3]))
    learner.model_.facts["examples"] = ["the dog runs", 7, ""]
    learner.model_.save(tmp_path / "model")
    about = app(("model", str(tmp_path / "model")))("/v1/models", None)["models"][0]
    assert about["examples"] == ["the dog runs"]
    assert about["card"]["dev"] == learner.model_.history[-1]["dev"]
    assert about["card"]["tokens"] == sum(map(len, X10))
