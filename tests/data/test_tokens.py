"""Tokenisers: what the treebank does with a text, offsets that lose nothing, and time linear in the length."""

import io
import lzma
import subprocess
import sys
import unicodedata
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.corpora import CORPORA
from support.english_tokens import english_sentences, english_spans

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


# What the rules distinguish, to be put together at random.
PARTS = r"""
a b A I K x s m d t n re ve ll 's n't ' ’ ` `` '' 1 0 9 23 123 1234 12345 . , : ; = - -- _ / // http:// www.
HTTPS:// mailto: ftp:// @ # $ US$ A$ % & + ++ ( ) [ ] { } < > <3 33 " “ ” ‘ … ! ? ... .. \ | * ^ ~ com .com
.html .co.uk jpeg Mr mr etc ETC tc Etc. No No. Nos. Sept p.m a.m pm PM kb kHz mins º ² ① ½ Ⅷ 〇 ª ⓐ ſ K ı İ é Ω 日
👍 🏽 ❤ ☀ → € « » · cannot gonna dont im i ive youre thats doesnt shouldnt wo can not anti counter co- re- e- 'em
'til 'tis 'twas 'cause 'n 'bout w/ w/o w/out b/c C++ C# F# PG&E 5:30 1,000 3.14 .5 +44 '90s 60's 9/11 11/28/2000
713-853-3989 345-9945 12345-6789 1-2-2003 U.S. u.s e.g. a.b.c foo.bar.baz :) :-) ;-D :P =] :o :-o :'( ^_^ -_-
^__
"""
UNITS = [*PARTS.split(), " ", "  ", *"\t\n\r\x1c\x85\u3000\u2028\u0301\u00ad\u200d\ufe0f\udc80"]


def assert_as_the_reference(line):
    spans = TOKENIZERS["english"].spans(line)
    assert spans == english_spans(line)
    assert TOKENIZERS["english"].starts(line, spans) == english_sentences(line, spans)


@settings(deadline=None, max_examples=2000)
@given(st.lists(st.sampled_from(UNITS) | st.just(" "), max_size=14).map("".join))
def test_rules_are_those_of_the_reference(line):
    assert_as_the_reference(line)


@settings(deadline=None, max_examples=500)
@given(TEXTS)
def test_any_text_is_split_as_by_the_reference(line):
    # Characters that other versions of Unicode know differ in their properties.
    assert_as_the_reference("".join(char for char in line if unicodedata.ucd_3_2_0.category(char) != "Cn"))


@pytest.mark.slow
def test_every_character_is_split_as_by_the_reference():
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if code < 0x3000 or unicodedata.ucd_3_2_0.category(char) not in ("Cn", "Co", "Lo"):
            assert_as_the_reference(f"a{char}b. {char} 1{char}")


@pytest.mark.slow
def test_real_text_is_split_as_by_the_reference():
    path = CORPORA / "raw_en" / "text.txt.xz"
    if not path.exists():
        pytest.skip("raw_en is not here (../shared/data, or TAGWRIGHT_DATA)")
    with lzma.open(path) as file:
        for line in file.read(2_000_000).decode("utf-8", "replace").split("\n"):
            assert_as_the_reference(line)


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
    text = unit * (200_000 // len(unit)) + "x"
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
