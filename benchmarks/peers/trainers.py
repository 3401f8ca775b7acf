"""Training by every package: one function each, all in TRAINERS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.timing import best_of
from benchmarks.papers import pal2006
from benchmarks.peers import crfsuite, packages
from benchmarks.peers.packages import BATCH, HERE, Package, one_thread, quiet


class Set(NamedTuple):
    """What is trained on: features of tokens, labels, and the words alone."""

    X: list[list[list[str]]]
    y: list[list[str]]
    words: list[list[str]]  # for learning without labels; these are fewer sentences where there are many labels
    L: int
    test: tuple[list[Any], list[list[str]]] | None  # for accuracy; None where it would take long

    def numbered(self) -> tuple[list[np.ndarray], int]:
        """Return words as numbers, and how many different ones there are."""
        number = {word: n for n, word in enumerate(dict.fromkeys(word for words in self.words for word in words))}
        return [np.array([[number[word]] for word in words]) for words in self.words], len(number)


class Trained(NamedTuple):
    """Seconds of an epoch or iteration, and the percentage of right labels after it, where it was measured."""

    seconds: float
    accuracy: float | None = None


def our_perceptron(train: Set) -> Trained:
    learner = tw.Perceptron(features=None, epochs=1)
    seconds = data.fit(learner, (train.X, train.y))
    return Trained(seconds, 100 * learner.score(*train.test) if train.test else None)


def crfsuite_perceptron(train: Set) -> Trained:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        seconds, _ = best_of(lambda: crfsuite.training(train.X, train.y, 1, path), 1)
        own = crfsuite.opened(path)
    return Trained(seconds, data.share(list(map(own.tag, train.test[0])), train.test[1]) if train.test else None)


def our_crf(train: Set) -> Trained:
    return Trained(min(pal2006.trained(None, (train.X, train.y), 3).each))


def crfsuite_crf(train: Set) -> Trained:
    return Trained(crfsuite.iteration(train.X, train.y, pal2006.L2)["seconds"])


def wapiti_crf(train: Set) -> Trained:
    """Wapiti makes its features from columns: of ours, one each, and tokens that have fewer get a feature "-".

    It gives weights to all pairs of feature and label, and an iteration includes tagging the sentences.
    """
    import wapiti

    columns = max(len(token) for own in train.X for token in own)
    lines = [
        "\n".join(
            "\t".join([*token, *["-"] * (columns - len(token)), label]) for token, label in zip(*own, strict=True)
        )
        for own in zip(train.X, train.y, strict=True)
    ]
    patterns = "".join(f"u:%x[0,{c}]\n" for c in range(columns)) + "b\n"
    model = wapiti.Model(patterns=patterns, algo="l-bfgs", maxiter=1, nthread=1, rho1=0.0, rho2=pal2006.L2)
    for own in lines:
        model.add_training_sequence(own)
    return Trained(best_of(model.train, 1)[0])


def pytorch_crf_epoch(train: Set) -> Trained:
    """One weight per feature and label, summed by an EmbeddingBag, and a CRF over them; Adam, one epoch.

    Minibatches of 32 sentences, or fewer where matrices (L, L) of all sentences would have more than 4 million numbers.
    """
    torch = one_thread()
    torch.set_grad_enabled(True)
    from torchcrf import CRF

    torch.manual_seed(0)
    labels = {label: n for n, label in enumerate(dict.fromkeys(label for own in train.y for label in own))}
    features = {
        name: n + 1 for n, name in enumerate(dict.fromkeys(f for own in train.X for token in own for f in token))
    }
    bag = torch.nn.EmbeddingBag(len(features) + 1, len(labels), mode="sum", sparse=True)
    torch.nn.init.zeros_(bag.weight)
    crf = CRF(len(labels), batch_first=True)
    steps = [torch.optim.SparseAdam(bag.parameters(), lr=0.01), torch.optim.Adam(crf.parameters(), lr=0.01)]

    def scores(X: list[Any]) -> tuple[Any, Any]:
        numbers = [[features.get(name, 0) for name in token] for own in X for token in own]
        ends = torch.tensor([0, *map(len, numbers)]).cumsum(0)[:-1]
        rows = bag(torch.tensor([n for own in numbers for n in own]), ends).split([len(own) for own in X])
        mask = [torch.ones(len(own), dtype=torch.bool) for own in X]
        return pad(rows, True), pad(mask, True)

    def epoch() -> None:
        for s in range(0, len(train.X), batch):
            emissions, mask = scores(train.X[s : s + batch])
            gold = [torch.tensor([labels[label] for label in own]) for own in train.y[s : s + batch]]
            for step in steps:
                step.zero_grad()
            (-crf(emissions, pad(gold, True), mask)).backward()
            for step in steps:
                step.step()

    pad = torch.nn.utils.rnn.pad_sequence
    batch = max(1, min(BATCH, 4_000_000 // len(labels) ** 2))
    seconds, _ = best_of(epoch, 1)
    if not train.test:
        return Trained(seconds)
    names = list(labels)
    with torch.no_grad():
        found = [[names[n] for n in crf.decode(*scores([own]))[0]] for own in train.test[0]]
    return Trained(seconds, data.share(found, train.test[1]))


def our_em(train: Set) -> Trained:
    learner = tw.HMM().fit_unlabelled(train.words, labels=train.L, iterations=1, progress=False)
    return Trained(learner.history_[0]["seconds"])


def hmmlearn_em(train: Set) -> Trained:
    from hmmlearn.hmm import CategoricalHMM

    numbers, count = train.numbered()
    X, lengths = np.concatenate(numbers), list(map(len, numbers))
    model = CategoricalHMM(train.L, n_iter=1, implementation="scaling", random_state=0, n_features=count)
    return Trained(best_of(lambda: model.fit(X, lengths), 1)[0])


def pomegranate_em(train: Set) -> Trained:
    torch = one_thread()
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    numbers, count = train.numbered()
    rng = np.random.default_rng(0)
    emissions, edges = rng.dirichlet(np.ones(count), train.L), rng.dirichlet(np.ones(train.L + 1), train.L)
    even = np.full(train.L, 1 / train.L)
    distributions = [Categorical(own[None].astype("f4")) for own in emissions]
    model = DenseHMM(distributions, edges[:, 1:].astype("f4"), even, edges[:, 0].astype("f4"), max_iter=1)
    X = [torch.from_numpy(own) for own in numbers]
    return Trained(best_of(lambda: model.fit(X), 1)[0])


class Trainer(NamedTuple):
    """One row of the tables."""

    name: str
    kind: str
    train: Callable[[Set], Trained]
    package: Package = HERE


PERCEPTRON, CRF, EM = "averaged perceptron, one epoch", "CRF, one iteration", "Baum-Welch, one iteration"
TRAINERS = [
    Trainer("tagwright", PERCEPTRON, our_perceptron),
    Trainer("python-crfsuite", PERCEPTRON, crfsuite_perceptron, packages.CRFSUITE),
    Trainer("tagwright, L-BFGS", CRF, our_crf),
    Trainer("python-crfsuite, L-BFGS", CRF, crfsuite_crf, packages.CRFSUITE),
    Trainer("Wapiti, L-BFGS", CRF, wapiti_crf, packages.WAPITI),
    Trainer("pytorch-crf, Adam, an epoch", CRF, pytorch_crf_epoch, packages.PYTORCH_CRF),
    Trainer("tagwright", EM, our_em),
    Trainer("hmmlearn", EM, hmmlearn_em, packages.HMMLEARN),
    Trainer("pomegranate", EM, pomegranate_em, packages.POMEGRANATE),
]


def run_trainer(number: int, own: Set) -> dict[str, Any]:
    quiet()
    return TRAINERS[number].train(own)._asdict()
