"""Every view of a model describes the same labellings: tags, k best, lattice, probabilities, server, command line."""

import asyncio
import itertools
import json
import warnings

import httpx
import numpy as np
from support.commands import run

import tagwright as tw
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.tagging import TagOptions
from tagwright.serve.app import Service, application
from tagwright.serve.metrics import Metrics
from tagwright.serve.settings import Settings

EXPECTED = ()
LABELS = ["O", "B-X", "I-X", "B-Y"]
WORDS = "abcdef"
TEXT = "U:%x[0,0]\nU1:%x[-1,0]\nB\n"
LINEAR = ("perceptron", "token-dependent", "order 2", "crf", "crf of order 2", "hmm")
SEARCHING = ("memm", "leftward memm", "bidirectional")
NEAR = 1e-5


def attempt(draw):
    warnings.simplefilter("ignore")
    X, y = corpus(draw)
    kind = draw.note("kind", draw.choice(LINEAR + SEARCHING))
    own = draw.note("constraints", draw.choice((None, "BIO", 2, ["BIO", 2])))
    model = trained(draw, kind, own, X, y)
    sentence = draw.note("sentence", [draw.choice(WORDS + "z") for _ in range(draw.randint(1, 4))])
    forbid = draw.choice((None, None, ("O", "O"), ("B-X", "I-X"), ("B-Y", "O")))
    lists = [None if draw.chance(0.5) else draw.sample(LABELS, draw.randint(1, 4)) for _ in sentence]
    allowed = draw.choice((None, lists))
    draw.note("call", (forbid, allowed))
    rules = None if forbid is None else tw.Constraints(LABELS, forbid=[forbid])
    given = {"constraints": rules, "allowed": allowed}
    many = {"constraints": rules, "allowed": None if allowed is None else [allowed]}
    request = {"sentences": [sentence], "k": 3}
    request |= {} if forbid is None else {"constraints": {"forbid": [forbid]}}
    request |= {} if allowed is None else {"allowed": [allowed]}
    if kind in SEARCHING:
        return searching(model, sentence, given, many, request, forbid)
    truth = enumerated(model, own, X, y, sentence, forbid, allowed)
    if not truth:
        return nothing(model, sentence, given, many, request)
    linear(model, sentence, given, many, truth)
    if model.probabilistic:
        probabilities(model, sentence, given, many, truth)
    served(model, request, truth)
    if forbid is None and allowed is None:
        printed(model, sentence, truth)
    return True


def corpus(draw):
    """Sentences whose labels keep to BIO."""
    X, y = [["a", "f", "b"]], [["B-X", "B-Y", "O"]]
    for _ in range(draw.randint(3, 15)):
        own = []
        for _ in range(draw.randint(1, 5)):
            inside = bool(own) and own[-1] in ("B-X", "I-X")
            own.append(draw.choice([name for name in LABELS if name != "I-X" or inside]))
        X.append(["f" if name == "B-Y" else draw.choice(WORDS[:5]) for name in own])
        y.append(own)
    X.append(["a", "b"])
    y.append(["B-X", "I-X"])
    return draw.note("X", X), draw.note("y", y)


def trained(draw, kind, own, X, y):
    few = tw.LBFGS(l2=0.5, max_iterations=20)
    match kind:
        case "perceptron":
            learner = tw.Perceptron(TEXT, epochs=2, constraints=own)
        case "token-dependent":
            learner = tw.Perceptron(TEXT + "B1:%x[0,0]\n", epochs=2, constraints=own)
        case "order 2":
            learner = tw.Perceptron(TEXT, epochs=2, order=2, constraints=own)
        case "crf":
            learner = tw.CRF(TEXT, solver=draw.choice((few, "adagrad")), constraints=own)
        case "crf of order 2":
            learner = tw.CRF(TEXT, order=2, epochs=3, constraints=own)
        case "hmm":
            learner = tw.HMM(constraints=own)
        case "memm":
            learner = tw.MEMM(TEXT + "UY:%y[-1]\n", history=1, constraints=own, solver=few)
        case "leftward memm":
            learner = tw.MEMM(TEXT + "UY:%y[-1]\n", history=1, direction="left", dictionary=3, solver=few)
        case _:
            left = tw.CRF(TEXT, solver=few, constraints=own).fit(X, y).model_
            return tw.Bidirectional(left, tw.Perceptron(TEXT, epochs=2).fit(X, y).model_).fit().model_
    return learner.fit(X, y).model_


def enumerated(model, own, X, y, sentence, forbid, allowed):
    """The score by the weights alone of every labelling that no limit forbids."""
    arrays = {name: array for name, array in model.arrays.items() if not name.startswith("constraints.")}
    nodes, edges, active = type(model)(model.labels, model.features, arrays, model.facts).lattice(sentence)
    own = own if isinstance(own, list) else [own]
    known = {}
    for word, label in zip(itertools.chain(*X), itertools.chain(*y), strict=True):
        known.setdefault(word, []).append(label)
    lists = allowed or [None] * len(sentence)
    found = {}
    for path in itertools.product(range(len(model.labels)), repeat=len(sentence)):
        names = tuple(model.labels[n] for n in path)
        pairs = list(itertools.pairwise(("O", *names)))
        if "BIO" in own and any(q == "I-X" and p not in ("B-X", "I-X") for p, q in pairs):
            continue
        if forbid in pairs[1:] or any(its and name not in its for its, name in zip(lists, names, strict=True)):
            continue
        if 2 in own and any(
            its is None and len(known.get(word, ())) >= 2 and name not in known[word]
            for word, its, name in zip(sentence, lists, names, strict=True)
        ):
            continue
        score = tw.score(nodes, edges, list(path), active=active)
        if score > -np.inf:
            found[names] = score
    return found


def near(one, other):
    return np.allclose(one, other, rtol=NEAR, atol=NEAR)


def is_best(truth, labels, score=None):
    best = max(truth.values())
    assert tuple(labels) in truth, labels
    assert near(truth[tuple(labels)], best)
    assert score is None or near(score, best)


def nothing(model, sentence, given, many, request):
    """No labelling is left, which every view says."""
    for view in (
        lambda: model.tag(sentence, **given),
        lambda: model.tag_batch([sentence], **many),
        lambda: model.tag_kbest([sentence], 3, **many),
        lambda: model.lattice(sentence, **given).decode(),
    ):
        try:
            found = view()
        except ValueError as error:
            no_path = str(error)
        else:
            raise AssertionError(f"no labelling is left, but: {found}")
        assert "no path" in no_path or "no label" in no_path, no_path
    assert [reply.status_code for reply in replies(model, [("/v1/tag", request)])] == [422]
    return True


def linear(model, sentence, given, many, truth):
    best = sorted(truth.values(), reverse=True)
    is_best(truth, model.tag(sentence, **given))
    is_best(
        truth, model.tag_batch([sentence, sentence], **{**many, "allowed": many["allowed"] and many["allowed"] * 2})[1]
    )
    for k in (1, 4, 1000):
        found = model.tag_kbest([sentence], k, **many)[0]
        is_best(truth, found[0].labels, found[0].score)
        assert near([own.score for own in found], best[:k])
        assert all(near(truth[tuple(own.labels)], own.score) for own in found)
    lattice = model.lattice(sentence, **given)
    for own in (lattice.decode(4), tw.decode(lattice.nodes, lattice.edges, 4, active=lattice.active)):
        assert near([path.score for path in own.paths], best[:4])
    for t in range(len(sentence)):
        why = model.explain(sentence, t, **given)
        is_best(truth, why.reasons[0].labels, why.reasons[0].total)
        for reason in why.reasons[1:]:
            other = max(score for names, score in truth.items() if names[t] == reason.label)
            assert near(reason.total, other)


def probabilities(model, sentence, given, many, truth):
    scores = np.array(list(truth.values()))
    log_z = np.logaddexp.reduce(scores)
    share = dict(zip(truth, np.exp(scores - log_z), strict=True))
    right = np.array(
        [[sum(p for own, p in share.items() if own[t] == y) for y in model.labels] for t in range(len(sentence))]
    )
    lattice = model.lattice(sentence, **given)
    assert near(model.marginals([sentence], **many)[0], right)
    assert near(lattice.marginals().nodes, right)
    assert near(lattice.marginals().log_z, log_z)
    for own in model.tag_kbest([sentence], 3, proba=True, **many)[0]:
        assert near(own.probability, share[tuple(own.labels)])
        assert near(own.marginals, [right[t, model.labels.index(y)] for t, y in enumerate(own.labels)])
    assert {tuple(own) for own in model.sample(sentence, 50, **given)} <= set(truth)


def replies(model, requests):
    model.save("model.safetensors")

    async def answered():
        service = Service(Settings(models=(("model", "model.safetensors"),), watch=0), Metrics(), stop=print)
        await service.store.open()
        transport = httpx.ASGITransport(application(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
            found = [await client.post(where, json=request) for where, request in requests]
            await service.end()
            return found

    return asyncio.run(answered())


def served(model, request, truth):
    best = sorted(truth.values(), reverse=True)
    tagged, lattice, why = replies(
        model,
        [
            ("/v1/tag", {**request, "proba": model.probabilistic}),
            ("/v1/lattice", request),
            ("/v1/explain", {**request, "token": 0}),
        ],
    )
    assert [reply.status_code for reply in (tagged, lattice, why)] == [200] * 3
    answer = tagged.json()["sentences"][0]
    is_best(truth, answer["labels"], answer["score"])
    assert near([one["score"] for one in answer["kbest"]], best[:3])
    assert near([one["score"] for one in lattice.json()["kbest"]], best[:3])
    is_best(truth, why.json()["reasons"][0]["labels"], why.json()["reasons"][0]["total"])


def printed(model, sentence, truth):
    model.save("model.safetensors")
    with open("text.txt", "w", encoding="utf-8") as file:
        file.write("".join(f"{word}\n" for word in sentence) + "\n")
    common = ("tag", "-m", "model.safetensors", "text.txt", "--format", "columns")
    plain, lines = run(*common), run(*common, "--json")
    assert (plain.exit_code, lines.exit_code) == (0, 0), (plain.output, lines.output)
    is_best(truth, [line.split("\t")[-1] for line in plain.stdout.split("\n") if line])
    answer = json.loads(lines.stdout)
    is_best(truth, answer["labels"], answer["score"])


def searching(model, sentence, given, many, request, forbid):
    """Models that are not lattices, or not always: their views agree with each other and with the limits."""
    try:
        best = model.tag_kbest([sentence], 3, **many)[0]
    except ValueError as error:
        return agreed(model, sentence, given, str(error))
    (one,) = model.tag_results([sentence], TagOptions(), given["constraints"], many["allowed"])
    labels = one.taggings[0].labels
    if one.exact or not isinstance(model, BidirectionalModel):
        assert labels == best[0].labels
    else:  # the models did not agree: among the k best of each there may be a better labelling
        assert best[0].score >= one.taggings[0].score
    assert model.tag(sentence, **given) == labels
    assert model.tag_batch([sentence], **many) == [labels]
    assert forbid not in itertools.pairwise(labels)
    lists = given["allowed"] or [None] * len(sentence)
    assert all(own is None or label in own for own, label in zip(lists, labels, strict=True))
    if "lattice" not in model.lacks and model.order <= 1:
        found = model.lattice(sentence, **given).decode(3)
        assert near([path.score for path in found.paths], [own.score for own in best])
    (reply,) = replies(model, [("/v1/tag", request)])
    assert reply.status_code == 200, reply.text
    assert [one["labels"] for one in reply.json()["sentences"][0]["kbest"]] == [own.labels for own in best]
    return True


def agreed(model, sentence, given, message):
    """What one view refuses, the others refuse as well."""
    assert "no path" in message or "no label" in message, message
    try:
        found = model.tag(sentence, **given)
    except ValueError:
        return True
    raise AssertionError(f"k best: {message}, but tagged as {found}")
