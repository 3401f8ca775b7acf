"""Tokenisers: what the treebank does with a text, offsets that lose nothing, and time linear in the length."""

import io
import subprocess
import sys
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tagwright as tw
from tagwright.data.reading import batches
from tagwright.data.tokens import TOKENIZERS, Tokenizer, unsplit

# Texts, and how the English Web Treebank splits them.
AS_THE_TREEBANK = [
    ("Shall we leave?", "Shall we leave ?"),
    ("it's mine, isn't it?", "it 's mine , is n't it ?"),
    ("I'll, you're, they've, he'd, I'm", "I 'll , you 're , they 've , he 'd , I 'm"),
    ("don’t it’s DON'T", "do n’t it ’s DO N'T"),
    ("cannot gonna wanna gotta", "can not gon na wan na got ta"),
    ("i dont know, im sure thats it", "i do nt know , i m sure that s it"),
    ("the dogs' bowls and O'Connell's dog", "the dogs ' bowls and O'Connell 's dog"),
    ("'quoted' “quoted” (bracketed) [twice]", "' quoted ' “ quoted ” ( bracketed ) [ twice ]"),
    ("wait... what?! No--yes—no… !!!", "wait ... what ?! No -- yes — no … !!!"),
    ("long-term state-of-the-art US-based", "long - term state - of - the - art US - based"),
    ("anti-American e-mail co-workers mid-August", "anti-American e-mail co-workers mid-August"),
    ("and/or 9/11 11/28/2000", "and / or 9/11 11/28/2000"),
    ("$5, US$5.50, 1,000, 5%, 3.14, .5", "$ 5 , US$ 5.50 , 1,000 , 5 % , 3.14 , .5"),
    ("5:30 5pm 10k 35mm 1st 1970s '90s 60's 3D", "5:30 5 pm 10 k 35 mm 1st 1970s '90s 60's 3D"),
    ("5-10 2003-2007 713-853-3989 345-9945 +44", "5 - 10 2003 - 2007 713-853-3989 345-9945 +44"),
    ("Mr. Smith, Dr. W. Jones, St. Paul", "Mr. Smith , Dr. W. Jones , St. Paul"),
    ("the U.S. army, e.g. this, i.e. that, 5 p.m. sharp", "the U.S. army , e.g. this , i.e. that , 5 p.m. sharp"),
    ("The cat sat. On Sat. it slept.", "The cat sat . On Sat. it slept ."),
    ("and so on, etc. Then etc.", "and so on , etc . Then etc ."),
    ("Mail carol@enron.com, see www.enron.com.", "Mail carol@enron.com , see www.enron.com ."),
    ("(http://a.org/b?c=d#e) enron.com report.doc", "( http://a.org/b?c=d#e ) enron.com report.doc"),
    ("PG&E and AT&T are #1, #tag @name", "PG&E and AT&T are # 1 , #tag @name"),
    ("good :) bad:( wink ;-)", "good :) bad :( wink ;-)"),
    ("naïve cafe\u0301, basic\u00adally, हिन्दी, 日本語。", "naïve cafe\u0301 , basic\u00adally , हिन्दी , 日本語 。"),
    ("ok👍🏽👨‍👩‍👧❤️", "ok 👍🏽 👨‍👩‍👧 ❤️"),
    ("================title***", "================ title ***"),
    ("missing.Blank", "missing . Blank"),
]


@pytest.mark.parametrize(("text", "split"), AS_THE_TREEBANK)
def test_english_tokens_are_those_of_the_treebank(text, split):
    assert tw.tokenize(text) == split.split()


TEXTS = st.text(max_size=60) | st.text("aA1.,'’-:/@#$%&()\"!? \tnt", max_size=60)


@settings(deadline=None, max_examples=300)
@given(TEXTS, st.sampled_from(sorted(TOKENIZERS)))
def test_every_character_is_in_one_token_and_every_token_in_one_sentence(text, name):
    spans = TOKENIZERS[name].spans(text)
    inside = set(chain.from_iterable(range(*span) for span in spans))
    outside = [char for at, char in enumerate(text) if at not in inside]
    assert sum(end - begin for begin, end in spans) == len(inside)
    assert spans == sorted(spans)
    assert all(begin < end for begin, end in spans)
    assert all(char in " \t" if name == "none" else char.isspace() for char in outside)
    assert not any(char in " \t" for char in "".join(tw.tokenize(text, name)))
    assert list(chain.from_iterable(TOKENIZERS[name].sentences(text))) == spans
    words = TOKENIZERS[name].words
    assert words is None or words(text) == tw.tokenize(text, name)


@pytest.mark.parametrize(
    "text",
    [
        "One. | Two! | Three? | Four",
        "He said, “No.” | Then he left.",
        "(Yes.) | “No?” | ok. | thanks",
        "Wait... what? | Well... | Now.",
        "Mr. Smith of the U.S. Army met Dr. W. Jones at 5 p.m. sharp. | They left.",
        "1. First of all. | 2. Then this.",
        "It was great. :) | It was.",
        "Version 2.0 of a.b.c is out. | Get it at www.x.com!",
        "No end in sight",
    ],
)
def test_english_sentences(text):
    sentences = text.split(" | ")
    assert tw.sentences(" ".join(sentences)) == [tw.tokenize(sentence) for sentence in sentences]


def test_a_line_end_ends_a_sentence():
    assert tw.sentences("One\ntwo\n\nthree") == [["One"], ["two"], ["three"]]
    assert tw.sentences("One. Two.", "whitespace") == [["One.", "Two."]]
    assert tw.sentences(" \n\n") == tw.sentences("", "none") == []


def test_none_takes_the_text_as_it_is():
    text = "rice. 10\u00a0000\tdon't  :-)"
    assert tw.tokenize(text, "none") == ["rice.", "10\u00a0000", "don't", ":-)"]
    assert tw.tokenize(text, "whitespace") == text.split()


def test_names():
    with pytest.raises(ValueError, match="tokenizer 'greek': use one of none, whitespace, english"):
        tw.tokenize("a", "greek")


def test_a_tokenizer_is_a_row_of_the_table(monkeypatch):
    monkeypatch.setitem(TOKENIZERS, "letters", Tokenizer(lambda line: [(at, at + 1) for at in range(len(line))]))
    assert tw.tokenize("日本", "letters") == ["日", "本"]
    (sentence,) = next(batches(io.BytesIO("日本".encode()), "text", tokenize="letters"))
    assert (sentence.rows, sentence.offsets) == ([["日"], ["本"]], [(0, 1), (1, 2)])


HOSTILE = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (90, 90))
from tagwright.data.tokens import sentences, unsplit
units = '''a 1 a. A. 1. 1.1a a- re- a' 0' a's n't a'sb ( ) " ' . - -_ ^_ : :) http:// http://( www. www., a@ a@b a.b@
a.com/( #a US$ A&b w/ 123- etc.) etc. a.b.c. 0's dont No. \\u0301 \\u200d \\U0001f44d\\u200d'''.split()
for unit in [*units, "U.S. ", "1. ", ". ", "( "]:
    text = unit * (60_000 // len(unit)) + "x"
    sentences(text)
    unsplit(text, lambda word: False)
"""


@pytest.mark.slow
def test_no_text_takes_more_than_linear_time():
    """All together take ten seconds; one that grows with the square of the length takes minutes."""
    done = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


def test_what_is_not_split():
    known = {"rice", ".", "it", "'s", "n't", "do", "!", "Yahoo!"}.__contains__
    assert unsplit("some rice.", known) == ["rice", "."]
    assert unsplit("Well it's rice .", known) == ["it", "'s"]
    assert unsplit("I don't", known) == ["do", "n't"]
    for line in ("rice .", "barley.", "Yahoo!", "etc. Mr. rice", "do n't", "rice-rice", "( rice )", ""):
        assert unsplit(line, known) == []
