"""Model files of other tools, damaged: refused, or models that answer, also after they were saved and loaded."""

import re

import tagwright as tw
from tests.fuzz import TESTS
from tests.fuzz.draw import NUMBERS
from tests.fuzz.peer_crfsuite import X as READY
from tests.fuzz.peer_crfsuite import trained as crfsuite

EXPECTED = (ValueError, OSError)
CRFPP, WAPITI = TESTS / "data" / "crfpp", TESTS / "data" / "wapiti"
# Inputs take turns, so that each format has as many as the others.
FORMATS = (
    [crfsuite()],
    [(CRFPP / "model").read_bytes()],
    [(CRFPP / "model_as_text.txt").read_bytes()],
    [path.read_bytes() for path in sorted(WAPITI.glob("*.wapiti"))],
)
ROWS = [["The", "DT"], ["1st", "JJ"], ["café", "NN"], ["Re-opens", "VBZ"], [".", "."]]


def damaged(draw, data):
    """Bytes with some changed; of a text often a number, and often near its beginning, where the headers are."""
    if draw.chance(0.4):
        return draw.damaged(data)
    if draw.chance(0.5):
        head = draw.choice((64, 512, 4096))
        return draw.damaged(data[:head]) + data[head:]
    found = list(re.finditer(rb"-?\d+", data[: draw.choice((200, 2000, len(data)))]))
    if not found:
        return draw.damaged(data)
    number = draw.choice(found)
    new = str(draw.choice((*NUMBERS, int(number[0]) + 1, int(number[0]) - 1))).encode()
    return data[: number.start()] + new + data[number.end() :]


def attempt(draw):
    data = damaged(draw, draw.choice(FORMATS[draw.number % len(FORMATS)]))
    model = tw.import_model(data)
    sentence = READY[0] if model.features is None else [(row * 99)[: max(model.columns, 1)] for row in ROWS]
    best = model.tag_kbest([sentence], 2, proba=model.probabilistic)
    if model.probabilistic:
        model.explain(sentence, 0)
    model.save("saved.safetensors")
    assert tw.load("saved.safetensors").tag_kbest([sentence], 2, proba=model.probabilistic) == best
    return True
