"""The reference of the English tokeniser: cpp/features/english_tokens.cpp must return the same offsets for any text.

Clitics (``ca n't``, ``it 's``, ``can not``), punctuation, hyphens (``long - term``, but ``anti-American``) and units
(``5 pm``) are tokens of their own; addresses, numbers, abbreviations and emoticons are whole. Differs from the treebank
where only the meaning decides: ``its`` for "it is" stays whole.
"""

from __future__ import annotations

import functools
import re

Span = tuple[int, int]
"""Where a token begins and ends in its line, in characters."""

_SYMBOL = (  # What may be no part of a word: ASCII, Latin-1, then blocks of punctuation, symbols and emoji.
    r"!-/:-@\[-^`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u2010-\u205e\u20a0-\u20cf\u2190-\u2bff\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff5b-\uff65"
    r"\U0001f000-\U0001faff"
)
_CHAR = rf"[^\s{_SYMBOL}]"
_END = rf"(?!{_CHAR})"
_APOSTROPHE = "['’]"
_CLITIC = rf"(?i:{_APOSTROPHE}(?:s|m|d|ll|re|ve)|`s|n{_APOSTROPHE}t){_END}"

# Words in two without an apostrophe. Only those that are nothing else.
_DOUBLE = (
    r"can(?=not#)|(?:gon|wan)(?=na#)|(?:got|out)(?=ta#)|(?:gim|lem)(?=me#)|i(?=(?:m|ve)#)|(?:you|they)(?=(?:re|ll|ve)#)|"
    r"(?:do|does|did|wo|ca|is|are|was|were|could|would|should|have|has|had|ai)(?=nt#)|"
    r"(?:that|what|he|she|there|here)(?=s#)"
).replace("#", _END)

# Before a hyphen these stay with the word after it.
_PREFIX = (
    "ante|anti|arch|bi|bio|co|counter|cross|cyber|de|e|eco|ex|extra|hyper|infra|inter|intra|macro|mega|micro|mid|mini|"
    "mis|multi|neo|non|over|pan|para|post|pre|pro|pseudo|psycho|quasi|re|semi|socio|sub|super|trans|tri|ultra|un|under|"
    "uni"
)
_ABBREVIATION = (
    "mrs?|ms|drs?|prof|st|ft|mt|jr|sr|lt|sgt|capt|inc|corp|co|ltd|bros|dept|univ|ave|blvd|rd|attn|esq|etc|vs|eg|ie|al|"
    "cf|ca|approx|esp|est|ext|govt|misc|oz|lbs?|mins?|hrs?|yrs?|pp?|tel|vol"
)
_CAPITAL_ABBREVIATION = (  # Without a capital they are words.
    "Gen|Col|Maj|Rev|Hon|Gov|Sens?|Reps?|Pres|Ph|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mon|Tues?|Wed|Thurs?|Fri|"
    r"Sat|Sun|Fig|Nos?(?=\.\s?\d)"
)
_UNIT = r"[ap]\.?m|[kmbx]|bn|[mck]m|ft|kg|lbs?|[kmg]?hz|[kmgt]b|mph|hh|yrs?|hrs?|mins?"
_ENDING = (
    "com|org|net|edu|gov|mil|info|biz|co|uk|ca|de|fr|au|us|eu|io|tv|ru|jp|html?|php|aspx?|jsp|docx?|xlsx?|pptx?|pdf|txt|"
    "csv|zip|exe|jpe?g|png|gif|mp3|js|url"
)
# At the end of the text, and of "etc." before a capital, the dot is the sentence's.
_INSIDE = r"(?![\"'”’)\]]*\s*$)(?!(?<=[Tt][Cc]\.)\s+[A-Z])"

# The first that matches is the token. Time is linear: what looks far ahead and may fail is tried only at the start of
# the run that it looks at (the lookbehinds), or is followed by a piece that takes the whole run.
_PIECES = (
    rf"(?i:{_DOUBLE})",
    r"[A-Za-z]++(?=[\s,])",  # most words, soon
    # Addresses, files, hosts, tags
    rf"(?<!{_CHAR})(?i:(?:https?|ftp|file)://|www\.|mailto:)[^\s<>\"“”]*[^\s<>\"“”.,;:!?'’)\]}}]",
    r"(?<![\w.%+@-])[\w%+-][\w.%+-]*+@\w[\w-]*+(?:\.[\w-]++)*",
    rf"(?<![\w.-])[\w-]++(?:\.[\w-]++)*\.(?i:{_ENDING})(?![\w@-]|\.\w)(?:/[^\s<>\"]*[\w/])?",
    r"(?<![\w.-])[a-z]++(?:\.[a-z]++){2,}(?!\w|\.\w)|[#@][A-Za-z_]\w*+(?:\.[A-Za-z]++)*",
    # Emoticons
    r"[:;=][-'^o]?(?:[)(]+|(?<![\w)\]].)(?:[\]\[DP/\\|*]|(?<=-)[opdO]))(?!\w)|<3+(?!\d)|\^_+\^|-_+-",
    # Telephones, dates, numbers, years
    r"(?:\d[-.])?(?:\d{3}[-/.]\d{3}[-.]\d{4}|\d{3}-\d{4}|\d{5}-\d{4}|\d{1,2}-\d{1,2}-\d{2,4})" + rf"{_END}(?!-)",
    r"(?:\d{1,2}/\d{1,2}/\d{2,4}|9/11|\+\d{1,3}|\.\d+)" + _END,
    rf"(?<!\d[.,:])\d++(?:[.,:]\d++)*+(?:(?=(?i:{_UNIT}){_END})|(?<=0){_APOSTROPHE}s{_END}|{_END})",
    rf"{_APOSTROPHE}\d\ds?{_END}",
    # Abbreviations
    rf"(?<![A-Za-z]\.)(?:[A-Za-z]\.)+[A-Za-z](?:\.(?![\w.]){_INSIDE}|{_END}(?!\.\w))",
    rf"(?=[A-Za-z]{{1,6}}+\.)(?:(?i:{_ABBREVIATION})|{_CAPITAL_ABBREVIATION})\.(?![\w.]){_INSIDE}|[A-HJ-Z]\.(?=\s*[\w(])",
    rf"[A-Za-z]{{1,3}}&[A-Za-z]{{1,2}}{_END}|(?i:w/o|w/out|b/c|w/(?=\s)){_END}|(?:US|AU|CA|NZ|HK|[UCA])\$|C\+\+|[CF]#",
    # Words
    rf"{_CLITIC}|(?i:{_APOSTROPHE}(?:em|n|til|cause|bout){_END}|{_APOSTROPHE}t(?=(?:is|was){_END}))",
    rf"(?:(?i:{_PREFIX})-(?={_CHAR}))?+(?:{_CHAR}(?:{_CHAR}|(?<={_CHAR}){_APOSTROPHE}(?={_CHAR}))*?(?={_CLITIC})"
    rf"|(?:{_CHAR}++(?:{_APOSTROPHE}(?={_CHAR}))?+)++)",
    # Marks: runs of stops, dashes, quotes and lines; emoji with what belongs to them; anything else by itself
    r"[.!?…]+|-{2,}|''|``|’’|‘’|‘‘|->|[-=*~+<>|#^]{4,}|([*=~+#$><)(])\1+",
    r"[\u2600-\u27bf\U0001f000-\U0001faff](?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[\u2600-\u27bf\U0001f000-\U0001faff])*",
    r"\S",
)


@functools.cache
def _token() -> re.Pattern[str]:
    """Return the pattern of a token; compiling it takes a third of the time to start, so only if it is used."""
    return re.compile("|".join(_PIECES))


_STOP = re.compile(r"[.!?…]+")
_CLOSING = frozenset(["''", "’’", *"\"'”’)]}»"])
_OPENING = frozenset(["``", *"\"'“‘([«*-"])
_FACE = re.compile(r"[:;=]-?[()DP]+|<3")


def english_spans(line: str) -> list[Span]:
    """Return where the tokens of English text are, in time linear in its length."""
    return [found.span() for found in _token().finditer(line)]


def english_sentences(line: str, spans: list[Span]) -> list[int]:
    """Return the numbers of the tokens that begin a sentence.

    A sentence ends after ``.``, ``!``, ``?`` or a run of them, with the quotes and brackets that close there and the
    emoticons that follow, before a blank. It does not end where dots trail off (``...``) before a lower-case letter,
    and after the number of a list (``1.``).
    """
    starts = [0] if spans else []
    words = [line[begin:end] for begin, end in spans]
    t = 0
    while t < len(words):
        stop = _STOP.fullmatch(words[t])
        t += 1
        if not stop or (t - 2 == starts[-1] and words[t - 2].isdigit()):
            continue
        while t < len(words) and (
            _FACE.fullmatch(words[t]) or (words[t] in _CLOSING and spans[t][0] == spans[t - 1][1])
        ):
            t += 1
        if t == len(words) or spans[t][0] == spans[t - 1][1]:
            continue
        following = next((words[n] for n in range(t, len(words)) if words[n] not in _OPENING), "")
        if not (following[:1].islower() and (stop[0].startswith("..") or stop[0] == "…")):
            starts.append(t)
    return starts
