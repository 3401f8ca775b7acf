"""A neural tagger: words and their characters, a bidirectional LSTM, and a CRF on top, or none.

    python examples/torch_tagger.py                                       # the sample corpus, in seconds
    python examples/torch_tagger.py train.txt.xz test.txt.xz --epochs 6   # column files; the last column is the label
    python examples/torch_tagger.py --layers tagwright none

Each layer is trained from the same seed on the same batches: tagwright's CRF, pytorch-crf's where it is installed, and
none (a softmax per token). The table shows how good they are, and what an epoch of training and the tagging of the test
set take. It needs PyTorch: pip install 'tagwright[torch]'.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import tagwright as tw
from tagwright.table import table
from tagwright.torch import CRF

HERE = Path(__file__).parent
Sentences = list[list[str]]


class Numbers:
    """Numbers for words, characters and labels; 0 stands for unknown items and padding."""

    def __init__(self, words: Sentences, labels: Sentences) -> None:
        """Number all that occurs."""
        lower = [word.lower() for sentence in words for word in sentence]
        self.word = {word: n for n, word in enumerate(sorted(set(lower)), 1)}
        self.letter = {letter: n for n, letter in enumerate(sorted(set("".join(w for s in words for w in s))), 1)}
        self.names = sorted({label for sentence in labels for label in sentence})
        self.label = {name: n for n, name in enumerate(self.names)}

    def batch(self, words: Sentences, labels: Sentences | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return words (B, T), letters (B, T, letters), labels (B, T) and a mask (B, T)."""
        B, T, longest = len(words), max(map(len, words)), max(len(word) for own in words for word in own)
        numbers, letters = torch.zeros(B, T, dtype=torch.long), torch.zeros(B, T, longest, dtype=torch.long)
        tags, mask = torch.zeros(B, T, dtype=torch.long), torch.zeros(B, T, dtype=torch.bool)
        for b, sentence in enumerate(words):
            mask[b, : len(sentence)] = True
            numbers[b, : len(sentence)] = torch.tensor([self.word.get(word.lower(), 0) for word in sentence])
            for t, word in enumerate(sentence):
                letters[b, t, : len(word)] = torch.tensor([self.letter.get(letter, 0) for letter in word])
            if labels:
                tags[b, : len(sentence)] = torch.tensor([self.label.get(name, 0) for name in labels[b]])
        return numbers, letters, tags, mask


class Tagger(nn.Module):
    """Emissions from a bidirectional LSTM over word vectors and convolutions of characters; a CRF, or none."""

    def __init__(self, numbers: Numbers, crf: nn.Module | None, size: int = 64) -> None:
        """Make all layers."""
        super().__init__()
        self.words = nn.Embedding(len(numbers.word) + 1, size, padding_idx=0)
        self.letters = nn.Embedding(len(numbers.letter) + 1, 24, padding_idx=0)
        self.convolution = nn.Conv1d(24, size // 2, 3, padding=1)
        self.lstm = nn.LSTM(size + size // 2, size, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(2 * size, len(numbers.names))
        self.crf = crf

    def forward(self, words: Tensor, letters: Tensor) -> Tensor:
        """Return emissions (B, T, L)."""
        B, T, longest = letters.shape
        spelled = self.convolution(self.letters(letters.view(B * T, longest)).transpose(1, 2)).amax(2).view(B, T, -1)
        hidden, _ = self.lstm(self.dropout(torch.cat([self.words(words), spelled], 2)))
        return self.out(self.dropout(hidden))

    def loss(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Return the negative log-likelihood per token."""
        if self.crf is None:
            return nn.functional.cross_entropy(emissions[mask], tags[mask])
        return -self.crf(emissions, tags, mask, reduction="token_mean")

    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """Return the best labels of each sentence."""
        if self.crf is None:
            best, lengths = emissions.argmax(2).tolist(), mask.sum(1).tolist()
            return [row[:length] for row, length in zip(best, lengths, strict=True)]
        return self.crf.decode(emissions, mask)


def layer(name: str, labels: int) -> nn.Module | None:
    """Return the last layer of this name."""
    if name == "none":
        return None
    if name == "tagwright":
        return CRF(labels, batch_first=True)
    import torchcrf

    return torchcrf.CRF(labels, batch_first=True)


def read(path: Path, label: str) -> tuple[Sentences, Sentences]:
    """Return the words and labels of a file."""
    rows, labels = tw.read(path, label=label)
    return [[row if isinstance(row, str) else row[0] for row in sentence] for sentence in rows], labels


def batches(words: Sentences, size: int, order: list[int]) -> Iterator[list[int]]:
    """Yield the numbers of sentences that go together: of like length, in random order."""
    groups = [sorted(order[n : n + 20 * size], key=lambda s: len(words[s])) for n in range(0, len(order), 20 * size)]
    ready = [group[n : n + size] for group in groups for n in range(0, len(group), size)]
    for n in torch.randperm(len(ready)).tolist():
        yield ready[n]


def run(name: str, train: Any, test: Any, epochs: int, size: int) -> list[str]:
    """Train and test with one last layer; return a row of the table."""
    torch.manual_seed(0)
    numbers = Numbers(*train)
    tagger = Tagger(numbers, layer(name, len(numbers.names)))
    optimizer = torch.optim.Adam(tagger.parameters(), lr=3e-3)
    seconds = []
    for _ in range(epochs):
        tagger.train()
        began = time.perf_counter()
        for own in batches(train[0], size, torch.randperm(len(train[0])).tolist()):
            words, letters, tags, mask = numbers.batch([train[0][s] for s in own], [train[1][s] for s in own])
            optimizer.zero_grad()
            tagger.loss(tagger(words, letters), tags, mask).backward()
            optimizer.step()
        seconds.append(time.perf_counter() - began)
    tagger.eval()
    found: Sentences = []
    began = time.perf_counter()
    with torch.no_grad():
        for n in range(0, len(test[0]), size):
            words, letters, _, mask = numbers.batch(test[0][n : n + size])
            found += [[numbers.names[y] for y in row] for row in tagger.decode(tagger(words, letters), mask)]
    tagged = time.perf_counter() - began
    result = tw.evaluate(test[1], found)
    f1 = f"{100 * result.spans.micro.f1:.2f}" if result.spans else "-"
    return [name, f"{100 * result.token_accuracy:.2f}", f1, f"{min(seconds):.2f}", f"{tagged:.2f}"]


def main() -> None:
    """Read the arguments, run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", nargs="?", type=Path, default=HERE / "train.txt")
    parser.add_argument("test", nargs="?", type=Path, default=HERE / "test.txt")
    parser.add_argument("--label", default="last", help="column of the label, such as 3")
    parser.add_argument("--layers", nargs="+", default=["tagwright", "pytorch-crf", "none"])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    given = parser.parse_args()
    train, test = read(given.train, given.label), read(given.test, given.label)
    rows = [run(name, train, test, given.epochs, given.batch) for name in given.layers]
    labels = len({label for sentence in train[1] for label in sentence})
    print(f"{len(train[0])} sentences, {labels} labels, {given.epochs} epochs, {torch.get_num_threads()} threads\n")
    print(table(["layer", "accuracy", "span F1", "seconds per epoch", "seconds to tag"], rows))


if __name__ == "__main__":
    main()
