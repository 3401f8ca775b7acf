"""Tokens, values, lists and arrays whose methods play tricks: an error or an answer, never a crash."""

import sys
import threading
from collections import OrderedDict, UserDict
from types import MappingProxyType

import numpy as np
from support.flat import crf, memm

import tagwright as tw
from tests.fuzz.draw import NUMBERS, TEXTS
from tests.fuzz.models import DATA, READY, WORDS
from tests.fuzz.tricks import ODD, TrickError, World

EXPECTED = (ValueError, TypeError, OSError, TrickError)
X = [["the", "dog", "barks"], ["dogs", "bark"], ["a", "dog"]]
Y = [["DT", "NN", "VBZ"], ["NNS", "VBP"], ["DT", "NN"]]
TEXT = [tw.load(DATA / f"{name}.safetensors") for name in ("perceptron", "crf_edges", "hmm", "memm", "bidirectional")]
FEATURES = tw.load(DATA / "perceptron_ready_made.safetensors")
TEMPLATES = "U:%x[0,0]\nU1:%in[0,0,l]\nB\n"


def attempt(draw):
    """Tricks may end in Python's own errors: an object has keys that it does not find, or changed during a loop."""
    world = World(draw, FEATURES)
    try:
        return draw.choice((tagged, tagged, trained, scored, two_threads, judged))(draw, world)
    except (LookupError, AttributeError) as error:
        if world.tricked:
            raise TrickError("the object's own error") from error
        raise
    except (RuntimeError, OverflowError, StopIteration) as error:
        known = "during iteration", "mutated", "changed while", "generator raised StopIteration", "index-sized integer"
        if isinstance(error, RecursionError | StopIteration) or any(word in str(error) for word in known):
            raise TrickError("Python's own error") from error
        raise


def tagged(draw, world):
    model, plain = (FEATURES, READY[1:]) if draw.chance(0.5) else (draw.choice(TEXT), WORDS[1:])
    given = draw.note("X", world.sentences(plain))
    match draw.randrange(4):
        case 0:
            model.tag_kbest(given, 2, threads=draw.choice((1, 2)), proba=model.probabilistic)
        case 1:
            model.tag_batch(given)
        case 2:
            model.tag(draw.choice(given) if isinstance(given, list) and given else given)
        case _:
            model.marginals(given) if model.probabilistic else model.lattice(given)
    return False


def trained(draw, world):
    ready = draw.chance(0.3)
    few = {"max_iterations": 1}
    learners = tw.Perceptron(TEMPLATES, epochs=1), crf(TEMPLATES, **few), memm(**few), tw.HMM()
    learner = tw.Perceptron(None, epochs=1) if ready else draw.choice(learners)
    given = world.sentences([[{word: 1.0} for word in x] for x in X] if ready else X)
    labels = world.sentences(Y)
    if isinstance(given, list) and draw.chance(0.6):
        labels = [Y[0][: len(x)] if isinstance(x, list) else Y[0] for x in given]
    if "features" in learner.get_params() and not ready:
        lists = draw.choice((world.thing(), {"l": world.thing()}, {"l": ["dog"]}, {"l": ["the dog"]}))
        learner.set_params(features=tw.Features(TEMPLATES, lists))
    draw.note("X, y", (given, labels))
    learner.fit(given, labels)
    learner.predict(world.sentences(X))
    return False


def scored(draw, world):
    plain = np.zeros((2, 2))
    nodes = draw.choice((world.thing(), [[0.0, 1.0], [2.0, world.thing()]], plain, [world.thing()] * 2))
    edges = draw.choice((plain, world.thing(), [[0.0, world.thing()], [1.0, 2.0]]))
    draw.note("nodes, edges", (nodes, edges))
    k, on = draw.choice((1, 2, world.thing())), draw.choice((None, None, world.thing(), [world.thing()]))
    match draw.randrange(5):
        case 0:
            tw.decode(nodes, edges, k, active=on, deadline=draw.choice((None, world.thing())))
        case 1:
            several, decoder = draw.choice(([nodes], world.thing())), draw.choice(("auto", world.thing()))
            tw.decode_batch(several, edges, k, decoder, active=on)
        case 2:
            tw.marginals(nodes, edges, draw.choice((None, world.thing())), active=on)
        case 3:
            tw.Edges(edges, start=world.thing(), order=world.thing(), corrections=draw.choice((None, world.thing())))
        case _:
            tw.score(nodes, edges, world.thing())
    return False


def two_threads(draw, world):
    """A second thread changes the sentences while the first tags them."""
    model, plain = (FEATURES, READY) if draw.chance(0.6) else (draw.choice(TEXT), WORDS)
    kept = [list(sentence) * 20 for sentence in draw.sample(plain[3:], 3)]
    sentences, stop = [list(sentence) for sentence in kept], threading.Event()

    def change():
        while not stop.is_set():
            for sentence, old in zip(sentences, kept, strict=True):
                sentence.clear()
                sentence.extend(type(token)(token) for token in old)

    thread = threading.Thread(target=change)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(3):
            model.tag_batch(sentences, threads=draw.choice((1, 2)))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)
    return False


def judged(draw, world):
    """Evaluation, sources that are no files, facts; and the same sentences in another dress get the same answer."""
    match draw.randrange(4):
        case 0:
            tw.evaluate(world.sentences(Y), world.sentences(Y) if draw.chance(0.5) else Y).table()
        case 1:
            tw.read(draw.choice((world.trick([object]), draw.choice(TEXTS), draw.choice(NUMBERS), draw.choice(ODD))))
        case 2:
            model = tw.Model(FEATURES.labels, None, FEATURES.arrays, dict(FEATURES.facts))
            model.facts[draw.choice(("data", "options", "learner", "sentences", "new"))] = world.thing()
            repr(model), model.probabilistic, model.tag(READY[3])
            model.save("facts")
            tw.load("facts")
        case _:
            sentence = draw.choice(READY[1:])
            dressed = [draw.choice((dict, UserDict, MappingProxyType, OrderedDict))(token) for token in sentence]
            assert FEATURES.tag(draw.choice((list, tuple, iter))(dressed)) == FEATURES.tag(sentence)
            return True
    return False
