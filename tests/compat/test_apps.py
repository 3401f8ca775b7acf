"""Applications of python-crfsuite, unmodified: each runs with python-crfsuite and with tagwright, in processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.apps

EXAMPLES = Path(__file__).parents[2] / "examples"
INSTALL = "from tagwright.compat import crfsuite; crfsuite.install()\n"
SHOWN = "import json, pycrfsuite; print(json.dumps([pycrfsuite.Tagger.__module__, found]))\n"

ADDRESSES = """
import itertools, usaddress
numbers = ["123", "1/2", "4500-A", "N6W23001", "One"]
streets = ["Main St.", "W. 42nd Street", "Martin Luther King Jr Blvd", "County Road 12", "Avenue of the Americas"]
units = ["", ", Apt. 4B", " Suite #100", " (rear)", ", P.O. Box 99"]
cities = ["", ", Chicago, IL 60601", " New York NY", ", San Juan PR 00901-1234"]
texts = ["".join((number, " ", *rest)) for number, *rest in itertools.product(numbers, streets, units, cities)]
found = []
for text in texts:
    try:
        found.append([usaddress.parse(text), usaddress.tag(text)])
    except usaddress.RepeatedLabelError as error:
        found.append([usaddress.parse(text), str(error.parsed_string)])
"""
PEOPLE = """
import itertools, probablepeople
titles = ["", "Mr. ", "Dr ", "Hon. "]
names = ["George 'Gob' Bluth", "Mary-Ann O'Neill", "J. R. R. Tolkien", "Smith, John Q.", "Bob and Alice Jones"]
ends = ["", " II", ", Esq.", " LLC", " Housing Company, Inc.", " c/o Acme Corp"]
texts = ["".join(parts) for parts in itertools.product(titles, names, ends)]
found = [[probablepeople.parse(text), *(probablepeople.parse(text, kind) for kind in ("person", "company"))]
         for text in texts]
"""
NLTK = """
import os, tempfile
from pathlib import Path
folder = Path(tempfile.mkdtemp())
os.environ["NLTK_DATA"] = str(folder)
from nltk.tag import CRFTagger
def sentences(name):
    blocks = Path(EXAMPLES, name).read_text(encoding="utf-8").strip().split("\\n\\n")
    return [[tuple(line.split()[:2]) for line in block.split("\\n")] for block in blocks]
tagger = CRFTagger(verbose=False)
tagger.train(sentences("train.txt"), str(folder / "model.tagger"))
tests = sentences("test.txt")
again = CRFTagger()
again.set_model_file(str(folder / "model.tagger"))
found = [again.tag_sents([[word for word, _ in own] for own in tests]), tagger.accuracy(tests), again.accuracy(tests)]
"""
ESTIMATOR = """
from pathlib import Path
import pickle, sklearn_crfsuite
from sklearn_crfsuite import metrics
def sentences(name):
    blocks = Path(EXAMPLES, name).read_text(encoding="utf-8").strip().split("\\n\\n")
    return [[line.split() for line in block.split("\\n")] for block in blocks]
def data(name):
    rows = sentences(name)
    X = [[{"word": row[0].lower(), "pos": row[1], "suffix": row[0][-2:], "length": len(row[0]) / 9} for row in own]
         for own in rows]
    return X, [[row[2] for row in own] for own in rows]
X, y = data("train.txt")
crf = sklearn_crfsuite.CRF(c2=0.3, all_possible_transitions=True).fit(X, y)
crf = pickle.loads(pickle.dumps(crf))
X, y = data("test.txt")
found = [[list(own) for own in crf.predict(X)], sorted(crf.classes_), crf.num_attributes_, round(crf.score(X, y), 6)]
"""
INGREDIENTS = """
import json, os, tempfile
from pathlib import Path
folder = Path(tempfile.mkdtemp()) / "taggers" / "averaged_perceptron_tagger_eng"
os.environ["NLTK_DATA"] = str(folder.parents[1])
from nltk.tag.perceptron import PerceptronTagger
# The application reads a POS tagger that NLTK would download: one of our own serves.
blocks = Path(EXAMPLES, "train.txt").read_text(encoding="utf-8").strip().split("\\n\\n")
own = PerceptronTagger(load=False)
own.train([[tuple(line.split()[:2]) for line in block.split("\\n")] for block in blocks], nr_iter=1)
folder.mkdir(parents=True)
for name, part in (("weights", {}), ("tagdict", own.tagdict), ("classes", sorted(own.classes))):
    (folder / f"averaged_perceptron_tagger_eng.{name}.json").write_text(json.dumps(part), encoding="utf-8")
from ingredient_parser import parse_ingredient
amounts = ["1", "2 1/2", "half a", "3-4", "500 g", "1 (14 oz) can", "2 tbsp.", "a pinch of"]
names = ["plain flour", "diced tomatoes", "fresh basil leaves, torn", "sea salt, or to taste"]
found = [repr(parse_ingredient(f"{amount} {name}")) for amount in amounts for name in names]
"""


def run(script, ours):
    code = f"EXAMPLES = {str(EXAMPLES)!r}\n" + (INSTALL if ours else "") + script + SHOWN
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("package", "script"),
    [
        ("usaddress", ADDRESSES),
        ("probablepeople", PEOPLE),
        ("nltk", NLTK),
        ("sklearn_crfsuite", ESTIMATOR),
        ("ingredient_parser", INGREDIENTS),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_an_application_gives_the_same_answers(package, script):
    pytest.importorskip(package, reason=f"{package} is not installed: make test-apps")
    module, expected = run(script, ours=False)
    assert module == "pycrfsuite._pycrfsuite"
    module, found = run(script, ours=True)
    assert module == "tagwright.compat.crfsuite.tagger"
    assert len(expected) > 3 or expected[0]
    assert found == expected


def test_what_the_applications_promise():
    """A few examples of their documentation, in our words."""
    pytest.importorskip("usaddress", reason="usaddress is not installed: make test-apps")
    script = "import usaddress\nfound = usaddress.tag('123 Main St. Suite 100 Chicago, IL')\n"
    _, (parts, kind) = run(script, ours=True)
    assert kind == "Street Address"
    assert parts == {
        "AddressNumber": "123",
        "StreetName": "Main",
        "StreetNamePostType": "St.",
        "OccupancyType": "Suite",
        "OccupancyIdentifier": "100",
        "PlaceName": "Chicago",
        "StateName": "IL",
    }
    script = "import probablepeople\nfound = probablepeople.tag('Mr George Bluth II')\n"
    _, (parts, kind) = run(script, ours=True)
    assert kind == "Person"
    assert parts == {"PrefixMarital": "Mr", "GivenName": "George", "Surname": "Bluth", "SuffixGenerational": "II"}
