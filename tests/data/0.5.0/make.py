"""Makes the models and answers in this folder. Run with tagwright 0.5.0 only: `python make.py`.

The files show that later versions still read what 0.5.0 wrote, and answer the same. So they are never made again, and
this script is kept to say how they came about. The sentences come from the small grammar below; none is from a corpus.

words.json and ready_made.json have 40 sentences: rows of word and part of speech, and the same as dicts of ready-made
features. A model NAME.safetensors has its 3 best labellings of each sentence in NAME.json, with probabilities where the
model has any. No two of the 4 best have nearly the same score, so that rounding cannot change their order.
"""

import json
import random
from itertools import pairwise, zip_longest
from pathlib import Path

import tagwright as tw

HERE = Path(__file__).parent
LEXICON = {
    "DT": "the a this every no",
    "JJ": "old small green quiet wooden careful open light",
    "JJR": "older smaller quieter",
    "NN": "gardener boat kettle river light walk paint cook market record",
    "NNS": "gardeners boats kettles rivers lights walks cooks markets records",
    "PRP": "she he it they",
    "PRP$": "her his their",
    "CD": "two seven 40 1,250",
    "VBZ": "sees paints walks cooks lights records opens",
    "VBD": "saw painted walked cooked opened found",
    "VB": "see paint walk cook light open record",
    "VBG": "painting walking cooking opening",
    "MD": "can will should",
    "RB": "slowly often well today",
    "IN": "near behind with under",
    "CC": "and or but",
}
UNSEEN = {  # words that only the 40 sentences have
    "JJ": "reddish enormous",
    "NN": "harbour singer",
    "NNS": "singers bakeries",
    "CD": "1999",
    "VBZ": "admires",
    "VBD": "admired",
    "VBG": "admiring",
    "RB": "noisily",
}
NOUN_PHRASES = [
    "PRP", "DT NN", "DT JJ NN", "DT JJR NN", "NNS", "JJ NNS", "CD NNS", "CD JJ NNS", "PRP$ NN", "PRP$ JJ NNS",
]  # fmt: skip
VERB_PHRASES = ["VBZ", "VBD", "MD VB", "MD RB VB", "VBZ VBG"]
NAMES = {
    "PER": ["Mara", "Mr. Olin", "Tavish", "Olin Tavish"],
    "LOC": ["Port Ellery", "Lake Orrin", "Ellery"],
}
LISTS = {"person": ["Mara", "Mr. Olin", "Mr. Olin Tavish"], "place": ["Port Ellery", "Lake Orrin", "Old Quay"]}


class Grammar:
    """Draws sentences of (word, part of speech, chunk)."""

    def __init__(self, seed, unseen=0.0):
        """A word is one of those that are not in the training sentences with probability `unseen`."""
        self.rng, self.unseen = random.Random(seed), unseen

    def maybe(self, share):
        return self.rng.random() < share

    def words(self, chunk, *tags):
        """One chunk with a word for each tag."""
        drawn = []
        for tag in tags:
            lexicon = UNSEEN if tag in UNSEEN and self.maybe(self.unseen) else LEXICON
            drawn.append((self.rng.choice(lexicon[tag].split()), tag))
        return [(word, tag, f"{'I' if t else 'B'}-{chunk}") for t, (word, tag) in enumerate(drawn)]

    def noun_phrase(self):
        if self.maybe(0.15):
            kind = self.rng.choice(sorted(NAMES))
            name = self.rng.choice(NAMES[kind]).split()
            return [(word, "NNP", f"{'I' if t else 'B'}-{kind}") for t, word in enumerate(name)]
        return self.words("NP", *self.rng.choice(NOUN_PHRASES).split())

    def verb_phrase(self):
        return self.words("VP", *self.rng.choice(VERB_PHRASES).split())

    def place(self):
        return self.words("PP", "IN") + self.noun_phrase()

    def clause(self):
        made = self.noun_phrase() + (self.place() if self.maybe(0.2) else []) + self.verb_phrase()
        if self.maybe(0.7):
            made += self.noun_phrase()
        if self.maybe(0.4):
            made += self.place()
        return made + (self.words("ADVP", "RB") if self.maybe(0.3) else [])

    def sentence(self):
        made = self.clause()
        if self.maybe(0.2):
            made += [(",", ",", "O"), (self.rng.choice(LEXICON["CC"].split()), "CC", "O"), *self.clause()]
        word, *rest = made[0]
        return [(word[0].upper() + word[1:], *rest), *made[1:], (".", ".", "O")]


def ready_made(sentence):
    """The same sentence as dicts: text, numbers, flags, nested dicts and lists."""
    made = []
    for (word, tag), following in zip_longest(sentence, sentence[1:]):
        suffixes = [word[-n:] for n in (1, 2, 3) if n <= len(word)]
        own = {"word": word.lower(), "suffix": suffixes, "length": len(word) / 8, "tag": tag}
        made.append(own | ({"next": {"tag": following[1]}} if following else {"last": True}))
    return made


WORDS = "U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[1,0]\nU03:%suffix[0,0,2]\nU04:%suffix[0,0,3]\nU05:%capital[0,0]\n"
CHUNKS = "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[-1,1]/%x[0,1]\nU03:%x[0,1]/%x[1,1]\n"


def memm(**options):
    return tw.MEMM(CHUNKS, l2=0.1, dictionary=4, min_count=2, **options)


MODELS = {  # learner, and what its labels are: 1 part of speech, 2 chunk, 3 both
    "perceptron": (tw.Perceptron(WORDS + "U06:%digit[0,0]/%shape[0,0]\nU07:%in[0,0,*]\nB\n", lists=LISTS), 1),
    "perceptron_parts": (tw.Perceptron(WORDS + "B\n", parts="|", margin=2, min_count=2), 3),
    "perceptron_edges": (tw.Perceptron(CHUNKS + "B\nB01:%x[0,1]\nB02:%prefix[-1,1,2]\n", epochs=5), 2),
    "perceptron_ready_made": (tw.Perceptron(features=None, epochs=5), 3),
    "crf": (tw.CRF(WORDS + "U06:%in[0,0,place]/%in[1,0,person]\nB\n", lists=LISTS, l2=0.1, min_count=2), 3),
    "crf_edges": (tw.CRF(CHUNKS + "B\nB01:%x[0,1]\n", l2=0.1), 2),
    "hmm": (tw.HMM(), 1),
    "memm": (memm(history=3), 2),
    "bidirectional": (tw.Bidirectional(memm(), memm(direction="left")), 2),
}


def labels_of(sentence, kind):
    return ["|".join(token[n] for n in (1, 2) if n & kind) for token in sentence]


def sentences_for(name, rows):
    return [ready_made(row) for row in rows] if name.endswith("ready_made") else rows


def clear(model, sentence):
    """Whether the 4 best are 4 or all there are, and no two have nearly the same score."""
    found = model.tag_kbest([sentence], 4)[0]
    return all(better.score - worse.score > 1e-3 for better, worse in pairwise(found))


def answer(tagging, first):
    own = {"labels": tagging.labels, "score": round(tagging.score, 8)}
    if tagging.probability is not None:
        own["probability"] = round(tagging.probability, 8)
        if first:
            own["marginals"] = [round(one, 8) for one in tagging.marginals]
    return own


def write(name, rows):
    """Write JSON with a row on each line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main():
    """Train, choose 40 sentences, and write models and answers."""
    assert tw.__version__ == "0.5.0", f"these files are of tagwright 0.5.0, this is {tw.__version__}"
    grammar = Grammar(seed=50)
    train = [grammar.sentence() for _ in range(150)]
    rows = [[list(token[:2]) for token in sentence] for sentence in train]
    models = {}
    for name, (learner, kind) in MODELS.items():
        y = [labels_of(sentence, kind) for sentence in train]
        models[name] = learner.fit(sentences_for(name, rows), y).model_
        models[name].save(HERE / f"{name}.safetensors")
    grammar = Grammar(seed=51, unseen=0.3)
    tested = [[]]
    while len(tested) < 40:
        row = [list(token[:2]) for token in grammar.sentence()]
        if len(tested) in (1, 2):  # something short
            row = row[: len(tested)]
        if all(clear(model, sentences_for(name, [row])[0]) for name, model in models.items()):
            tested.append(row)
    write("words", tested)
    write("ready_made", sentences_for("ready_made", tested))
    for name, model in models.items():
        found = model.tag_kbest(sentences_for(name, tested), 3, proba=model.probabilistic)
        write(name, [[answer(tagging, n == 0) for n, tagging in enumerate(own)] for own in found])


if __name__ == "__main__":
    main()
