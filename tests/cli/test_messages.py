"""What a first mistake is answered with: what is wrong, where, and what to do."""

import pytest
from support.commands import columns, complaint, printed, run
from support.corpora import ten_sentences

import tagwright as tw

X10, Y10 = ten_sentences()


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    tw.Perceptron(features="U:%x[0,0]\nB\n", epochs=3).fit(X10, Y10).model_.save(path)
    return path


def gold(tmp_path, rename):
    path = tmp_path / "gold.txt"
    path.write_text(columns(X10, [[rename(label) for label in labels] for labels in Y10]))
    return path


# --- eval: labels that the model does not know ---


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_eval_of_labels_that_the_model_does_not_know_at_all(model, tmp_path, more):
    path = gold(tmp_path, str.lower)
    said = complaint("eval", "-m", model, path, *more)
    assert said.startswith(f"{path}: the model knows none of its labels (")
    assert "nn" in said
    assert "its own are " in said
    assert "DT" in said
    assert said.endswith("choose another column with --label, or another model")


def test_eval_of_labels_of_which_the_model_knows_some(model, tmp_path):
    labels = [label for own in Y10 for label in own]
    unknown = sum(label != "NN" for label in labels) / len(labels)
    assert unknown > 0.5
    path = gold(tmp_path, lambda label: label if label == "NN" else label.lower())
    done = run("eval", "-m", model, path)
    assert done.exit_code == 0
    said = f"Warning: {unknown:.1%} of the tokens have a gold label that the model does not know ("
    assert done.stderr.startswith(said)
    assert done.stderr.endswith("; they count as wrong\n")
    assert "token accuracy" in done.stdout


def test_eval_does_not_warn_about_a_few_new_labels(model, tmp_path):
    """A label that occurs once or twice is what new text has."""
    rare = min({label for own in Y10 for label in own}, key=lambda name: sum(own.count(name) for own in Y10))
    printed("eval", "-m", model, gold(tmp_path, lambda label: "NEW" if label == rare else label))


# --- a column that is not there ---

TEMPLATES = "# words\nU00:%x[0,0]\nU01:%x[-1,0]/%suffix[0,2,3]\nB\n"
READS = "3:14 (%suffix[0,2,3]) reads column 2, counted from 0"


@pytest.fixture
def three_columns(tmp_path):
    """A template file that reads three columns, and a model that was trained with it."""
    (tmp_path / "mine.template").write_text(TEMPLATES)
    X = [[[word, "x", word] for word in words] for words in X10]
    tw.Perceptron(features=tmp_path / "mine.template", epochs=1).fit(X, Y10).model_.save(tmp_path / "wide")
    return tmp_path / "mine.template", tmp_path / "wide"


def test_train_with_a_template_that_reads_a_missing_column(three_columns, tmp_path):
    template, _ = three_columns
    said = complaint("train", gold(tmp_path, str), tmp_path / "m", "-f", template)
    assert said == f"sentence 0, token 0 has 1 column, but {template}:{READS}"


def test_tag_and_eval_with_a_model_that_reads_a_missing_column(three_columns, tmp_path):
    _, model = three_columns
    path = tmp_path / "two.txt"
    path.write_text("\nthe\tx\nNN\ty\n")
    assert complaint("tag", "-m", model, path) == f"{path}:2: 2 columns, but the model's templates:{READS}"
    path = gold(tmp_path, str)
    assert complaint("eval", "-m", model, path) == f"{path}:1: 1 column, but the model's templates:{READS}"


def test_a_model_in_python_that_reads_a_missing_column(three_columns):
    _, path = three_columns
    model = tw.load(path)
    for sentence, own in ((["the"], "1 column"), ([["the", "x"]], "2 columns"), ([[]], "0 columns")):
        with pytest.raises(ValueError, match=f"sentence 0, token 0 has {own}, but templates:"):
            model.tag(sentence)
    both = tw.Bidirectional(tw.Perceptron(features="U:%x[0,0]\n", epochs=1).fit(X10, Y10).model_, model).fit().model_
    with pytest.raises(ValueError, match="has 1 column, but templates:3:14"):
        both.tag(["the"])
    assert both.reader(1) == f"templates:{READS}"


# --- text that is not split, tokens that are none ---

LEARNERS = [
    tw.Perceptron(epochs=1),
    tw.CRF(solver=tw.LBFGS(max_iterations=1)),
    tw.HMM(),
    tw.MEMM(solver=tw.LBFGS(max_iterations=1)),
    tw.Bidirectional(tw.Perceptron(epochs=1), tw.Perceptron(epochs=1)),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_text_that_is_not_split(learner):
    said = r"sentence 1 must be a list of tokens, not str; write text\.split\(\) for the words of a text"
    text = [X10[0], "the dog barks"]
    for y in (["DT", "NN", "VBZ"], ["DT"] * len("the dog barks")):
        with pytest.raises(ValueError, match=said):
            learner.fit(text, [Y10[0], y])
    learner.fit(X10, Y10)
    for call in (learner.predict, learner.predict_kbest, learner.model_.tag_batch):
        with pytest.raises(ValueError, match=said):
            call(text)
    with pytest.raises(ValueError, match=said.replace("1", "0")):
        learner.model_.tag("the dog barks")
    with pytest.raises(ValueError, match=r"X must be a list of sentences, not str; write \[text\.split\(\)\]"):
        learner.predict("the dog barks")


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tokens_that_are_none(learner):
    said = "sentence 0, token 0 must be a string or a list of columns, not None"
    with pytest.raises(ValueError, match=said):
        learner.fit([[None, "a"]], [["A", "B"]])
    learner.fit(X10, Y10)
    for call in (learner.predict, learner.predict_kbest, learner.model_.tag_batch, learner.model_.text):
        with pytest.raises(ValueError, match=said):
            call([[None, "a"]])
        with pytest.raises(ValueError, match="sentence 1 must be a list of tokens, not None"):
            call([X10[0], None])
        with pytest.raises(ValueError, match="X must be a list of sentences, not None"):
            call(None)


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (None, Y10, "X must be a list of sentences, not None"),
        (X10, None, "y must be a list with the labels of each sentence, not None"),
        ("text", Y10, "X must be a list of sentences, not str"),
        ([["a"]], [None], r"y\[0\] is NoneType; labels of a sentence are a list of strings"),
        ([["a"]], ["A"], r"y\[0\] is a string; labels of a sentence are a list of strings"),
        (
            [["a"]],
            [[None]],
            "every label of y is None|so every label must be known",
        ),
        ([["a"]], [[1.5]], "labels must be strings, not float"),
        ([["a"]], [[["A"]]], "is a list, but a label is a string"),
        ([None], [["A"]], "sentence 0 must be a list of tokens, not None"),
    ],
)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_what_fit_is_given(learner, X, y, says):
    if type(learner) is tw.Bidirectional and (X is None or y is None):
        says = "fit.X, y. needs sentences and labels"
    with pytest.raises(ValueError, match=says):
        learner.fit(X, y)
