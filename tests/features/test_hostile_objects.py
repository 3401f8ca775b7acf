"""Tokens and values that change what they are in while they are read: an error, never a crash, a loop or a leak."""

import contextlib
import gc
import itertools
import threading

import pytest
from support.limited import run_limited

import tagwright as tw

READY = tw.Perceptron(features=None, epochs=1).fit([[["a"], ["b"]]], [["A", "B"]]).model_
WORDS = tw.Perceptron(features="U0:%x[0,0]\nU1:%x[0,1]\n", epochs=1).fit([[["a", "b"]]], [["A"]]).model_


class Number:
    """A value that does something when it is read as a number."""

    def __init__(self, act):
        self.act = act

    def __float__(self):
        self.act()
        return 1.0


class Mapping:
    """A token that is a mapping, which does something when its keys are read."""

    def __init__(self, act, keys=("a",)):
        self.act, self.names = act, keys

    def keys(self):
        self.act()
        return self.names

    def __getitem__(self, name):
        return 1.0


def fresh(n):
    """Strings that nothing but their container holds."""
    return [f"word {n} of a list" for n in range(n)]


def churn():
    """Give freed memory to others, so that what points there is wrong."""
    return [bytearray(64) for _ in range(2000)]


def replace(items, with_what):
    items[:] = with_what
    gc.collect()
    return churn()


def test_a_sentence_that_loses_its_tokens():
    sentence = []
    sentence += [Mapping(lambda: replace(sentence, [])), *({name: 1.0} for name in fresh(50))]
    with pytest.raises(RuntimeError, match="sentence 0 changed while it was read"):
        READY.tag(sentence)


def test_a_sentence_that_grows_for_ever():
    sentence = []
    sentence.append(Mapping(lambda: sentence.append(sentence[0])))
    with pytest.raises(RuntimeError, match="sentence 0 changed while it was read"):
        READY.tag(sentence)


def test_a_list_of_sentences_that_loses_them():
    X = []
    X += [[Mapping(lambda: replace(X, []))], *([[name]] for name in fresh(50))]
    with pytest.raises(RuntimeError, match="X changed while it was read"):
        READY.tag_batch(X)


def test_tokens_that_are_replaced_are_read_as_they_then_are():
    sentence = []
    sentence += [Mapping(lambda: replace(sentence, [["b"]] * 2)), ["a"]]
    assert READY.tag(sentence) == READY.tag([{"a": 1.0}, ["b"]])


@pytest.mark.parametrize(
    "act",
    [
        lambda token: token.clear(),
        lambda token: token.update(dict.fromkeys(fresh(1000), 2.0)),
        lambda token: token.pop(next(iter(token))),
    ],
    ids=["clear", "grow", "pop"],
)
def test_a_value_that_changes_its_dict(act):
    token = {}
    token |= {"x": Number(lambda: (act(token), churn())), **dict.fromkeys(fresh(20), 1.0)}
    with pytest.raises(RuntimeError, match="sentence 0, token 0 changed while it was read"):
        READY.tag([token])


def test_a_value_that_puts_itself_in_its_dict_again_and_again():
    """The size stays the same, and there would always be another entry."""
    token, names = {}, map(str, itertools.count())

    class Again:
        def __float__(self):
            del token[next(iter(token))]
            token[next(names)] = Again()
            return 1.0

    token |= {next(names): Again(), "other": 1.0}
    with pytest.raises(RuntimeError, match="sentence 0, token 0 changed while it was read"):
        READY.tag([token])


def test_a_value_that_changes_the_dict_around_its_own():
    outer = {}
    outer["in"] = {"x": Number(lambda: (outer.clear(), churn())), "y": 2.0}
    with pytest.raises(RuntimeError, match="sentence 0, token 0 changed while it was read"):
        READY.tag([outer])


class Word(str):
    """Text that does something when it is compared."""

    act = staticmethod(lambda: None)
    __hash__ = str.__hash__

    def __lt__(self, other):
        self.act()
        return str.__lt__(self, other)


def test_a_set_that_changes_while_its_items_are_sorted():
    items = set(map(Word, fresh(20)))
    Word.act = staticmethod(lambda: (items.clear(), churn()))
    try:
        found = READY.text([[{"f": items}, {"f": sorted(fresh(20))}]])
    finally:
        Word.act = staticmethod(lambda: None)
    assert found.tokens == 2


class Rows(list):
    """A list with an iterator of its own."""

    def __init__(self, items, act):
        super().__init__(items)
        self.act = act

    def __iter__(self):
        for n in range(len(self)):
            yield self[n]
            self.act(n)


def test_a_row_whose_iterator_changes_it():
    row = Rows(fresh(40), lambda n: (row.clear(), churn()))
    with pytest.raises(IndexError):
        WORDS.tag([row])


def test_keys_that_change_their_mapping():
    names = fresh(50)
    mapping = Mapping(lambda: None, names)
    mapping.__class__ = type("Leaving", (Mapping,), {"__getitem__": lambda self, name: float(not replace(names, []))})
    with pytest.raises(RuntimeError, match="sentence 0, token 0 changed while it was read"):
        READY.tag([mapping])


def test_a_thread_that_refreshes_the_sentence():
    """Each token waits, as its keys are read, until the other thread has put new ones in the place of all."""
    request, done = threading.Semaphore(0), threading.Semaphore(0)
    sentence, stopped = [], threading.Event()

    def make():
        return [Mapping(wait, fresh(3)) for _ in range(5)]

    def wait():
        request.release()
        done.acquire()

    def refresh():
        while request.acquire() and not stopped.is_set():
            replace(sentence, make())
            done.release()

    sentence += make()
    other = threading.Thread(target=refresh)
    other.start()
    try:
        assert len(READY.tag(sentence)) == 5
    finally:
        stopped.set()
        request.release()
        other.join()


# --- what has no end ---


class Endless:
    def __iter__(self):
        return itertools.repeat("a")


@pytest.mark.parametrize(
    ("sentence", "model"),
    [
        ([Endless()], READY),
        ([Endless()], WORDS),
        ([Mapping(lambda: None, map(str, itertools.count()))], READY),
    ],
    ids=["features", "columns", "keys"],
)
def test_a_token_without_end_is_refused(sentence, model):
    with pytest.raises(ValueError, match="sentence 0, token 0 has more than 1048576 items, or no end; give a list"):
        model.tag(sentence)


def test_dicts_that_mean_more_than_they_hold():
    """16 levels of 16 names each: a thousand entries, and 16 ** 16 features."""
    token = {}
    for _ in range(16):
        token = {str(n): token for n in range(16)}
    with pytest.raises(ValueError, match="sentence 0, token 0 has more than 1048576 features"):
        READY.tag([token])


def test_an_answer_without_end():
    with pytest.raises(ValueError, match="left must give one label per token: there are more labels than tokens, 2"):
        tw.dual_decomposition(lambda prices: itertools.repeat(0), lambda prices: [0, 0], 2, 3)


INTERRUPTED = """
    import itertools, signal
    from tagwright import _core

    def ctrl_c(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, ctrl_c)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        _core.Text.from_rows([itertools.repeat("a")], 0)
    except KeyboardInterrupt:
        print("heard")
"""


def test_ctrl_c_ends_a_sentence_without_end():
    """No Python code runs while itertools.repeat is read, so nothing else would hear it."""
    done = run_limited(INTERRUPTED)
    assert done.stdout == "heard\n", done.stderr


@pytest.mark.parametrize("where", ["__float__", "__lt__", "keys", "__getitem__"])
def test_ctrl_c_inside_an_object_is_not_taken_for_a_bad_value(where):
    def interrupt(*_):
        raise KeyboardInterrupt

    kind = type("Interrupting", (Word if where == "__lt__" else Mapping,), {where: interrupt})
    value = {kind("a"), kind("b")} if where == "__lt__" else kind(lambda: None)
    if where == "__float__":
        value = type("Interrupting", (), {where: interrupt})()
    with pytest.raises(KeyboardInterrupt):
        READY.tag([{"f": value}])


# --- whatever is given, tokens are read or refused ---


class Odd:
    """An object of which every question may fail."""

    def __init__(self, error):
        self.error = error

    def __getattr__(self, name):
        raise self.error

    def __iter__(self):
        raise self.error

    def __len__(self):
        raise self.error

    def __getitem__(self, key):
        raise self.error

    def __float__(self):
        raise self.error

    def __repr__(self):
        raise self.error


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError, AttributeError, OverflowError, MemoryError])
@pytest.mark.parametrize("build", [lambda odd: odd, lambda odd: [odd], lambda odd: [[odd]], lambda odd: [[{"f": odd}]]])
@pytest.mark.parametrize("model", [READY, WORDS], ids=["ready", "words"])
def test_objects_that_answer_no_question(model, build, error):
    with pytest.raises((ValueError, error)):
        model.tag_batch(build(Odd(error("no"))))
    with contextlib.suppress(ValueError, error):
        model.text(build(Odd(error("no"))))
