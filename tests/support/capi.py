"""The C API through ctypes: where the library is, and what its functions return as plain Python."""

import ctypes as c
import os
from pathlib import Path

import pytest

import tagwright as tw

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "cpp" / "capi"
PROBABILITIES, MARGINALS = 1, 2


def build_folder():
    """Return where the package that is tested was built: a sanitizer's build has a folder of its own."""
    site = Path(tw.__file__).resolve().parents[1]
    return site.parent if site.name == "site" else ROOT / "build" / "release"


def library_path():
    """Return the shared library; skip the test if it was not built, which in CI is a failure."""
    path = build_folder() / "libtagwright.so"
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{path} was not built")
        pytest.skip("the shared library was not built; `make test` builds it")
    return path


def flat_features(token):
    """Return the names and values of a token's ready-made features, in python-crfsuite's reading."""
    made = []
    for name, value in token.items():
        if isinstance(value, str):
            made.append((f"{name}:{value}", 1.0))
        elif isinstance(value, list):
            made += [(f"{name}:{item}", 1.0) for item in value]
        elif isinstance(value, dict):
            made += [(f"{name}:{inner}", number) for inner, number in flat_features(value)]
        else:
            made.append((name, float(value)))
    return made


class Options(c.Structure):
    """tw_options."""

    _fields_ = (
        ("size", c.c_uint32), ("k", c.c_uint32), ("threads", c.c_uint32), ("flags", c.c_uint32),
        ("decoder", c.c_char_p), ("tokenizer", c.c_char_p),
    )  # fmt: skip


def options(**given):
    """Return options with their size."""
    return Options(size=c.sizeof(Options), **given)


class CapiError(Exception):
    """A status other than TW_OK: status, message."""


class Library:
    """The functions with their types."""

    def __init__(self, path):
        """Load the library."""
        self.own = own = c.CDLL(str(path))
        size, handle, text = c.c_size_t, c.c_void_p, c.c_char_p
        for name, result in {
            "version": text, "error": text, "model_label": text, "model_learner": text, "model_tokenizer": text,
            "result_label": text, "model_labels": size, "model_columns": size, "result_sentences": size,
            "result_tokens": size, "result_labellings": size, "result_score": c.c_double,
            "result_probability": c.c_double, "result_log_probability": c.c_double,
            "result_labels": c.POINTER(c.c_int32), "result_label_probabilities": c.POINTER(c.c_double),
            "result_marginals": c.POINTER(c.c_float),
        }.items():  # fmt: skip
            getattr(own, f"tw_{name}").restype = result
        for name in ("model_free", "result_free", "result_sentences", "model_labels", "model_columns",
                     "model_learner", "model_tokenizer", "model_probabilistic"):  # fmt: skip
            getattr(own, f"tw_{name}").argtypes = [handle]
        for name, count in {
            "tokens": 1, "labellings": 1, "marginals": 1, "score": 2, "probability": 2, "log_probability": 2,
            "labels": 2, "label_probabilities": 2, "label": 3,
        }.items():  # fmt: skip
            getattr(own, f"tw_result_{name}").argtypes = [handle] + [size] * count
        own.tw_model_label.argtypes = [handle, size]
        own.tw_result_offsets.argtypes = [handle, size, size, c.POINTER(size), c.POINTER(size)]
        own.tw_model_load.argtypes = [text, c.POINTER(handle)]
        own.tw_model_from_memory.argtypes = [text, size, c.POINTER(handle)]
        strings, sizes, doubles = c.POINTER(text), c.POINTER(size), c.POINTER(c.c_double)
        how, out = c.POINTER(Options), c.POINTER(handle)
        own.tw_tag_text.argtypes = [handle, text, size, how, out]
        own.tw_tag_tokens.argtypes = [handle, strings, size, sizes, size, how, out]
        own.tw_tag_features.argtypes = [handle, strings, c.POINTER(c.c_float), sizes, sizes, size, how, out]
        own.tw_tokenize.argtypes = [text, size, text, out]
        own.tw_scores.argtypes = [handle, strings, size, size, doubles, doubles]
        own.tw_explain.argtypes = [handle, strings, size, size, size, size, out]
        for name, result in {"feature": text, "unknown": text, "score": c.c_double, "part": c.c_int32}.items():
            function = getattr(own, f"tw_explanation_{name}")
            function.restype, function.argtypes = result, [handle, size]
        own.tw_explanation_features.restype, own.tw_explanation_features.argtypes = size, [handle]
        own.tw_explanation_words.restype, own.tw_explanation_words.argtypes = text, [handle, text]
        own.tw_explanation_free.argtypes = [handle]
        own.tw_decode.argtypes = [doubles, doubles, size, size, how, out]
        own.tw_marginals.argtypes = [doubles, doubles, size, size, doubles, doubles, doubles]

    def call(self, name, *arguments):
        """Call a function that returns a status; CapiError unless it is TW_OK."""
        status = getattr(self.own, f"tw_{name}")(*arguments)
        if status:
            raise CapiError(status, self.own.tw_error().decode())

    def made(self, name, *arguments):
        """Return the handle that a function makes."""
        handle = c.c_void_p()
        self.call(name, *arguments, c.byref(handle))
        return handle

    def load(self, path):
        """Return a model."""
        return self.made("model_load", os.fsencode(path))

    def tag_text(self, model, text, **given):
        """Return the result of a text."""
        data = text.encode()
        return self.result(self.made("tag_text", model, data, len(data), c.byref(options(**given))))

    def tag(self, model, X, **given):
        """Return the result of sentences of words or rows."""
        rows = [[[token] if isinstance(token, str) else token for token in own] for own in X]
        columns = max((len(row) for own in rows for row in own), default=1)
        cells = [cell.encode() for own in rows for row in own for cell in row]
        lengths = (c.c_size_t * len(X))(*map(len, X))
        given = c.byref(options(**given))
        return self.result(
            self.made("tag_tokens", model, (c.c_char_p * len(cells))(*cells), columns, lengths, len(X), given)
        )

    def tag_features(self, model, X, **given):
        """Return the result of sentences of dicts of features."""
        tokens = [flat_features(token) for own in X for token in own]
        names = [name.encode() for token in tokens for name, _ in token]
        values = [value for token in tokens for _, value in token]
        return self.result(
            self.made(
                "tag_features", model, (c.c_char_p * len(names))(*names), (c.c_float * len(values))(*values),
                (c.c_size_t * len(tokens))(*map(len, tokens)), (c.c_size_t * len(X))(*map(len, X)), len(X),
                c.byref(options(**given)),
            )
        )  # fmt: skip

    def result(self, handle):
        """Return the labellings of each sentence: labels, score, probability, those of labels; free the result."""
        own, made = self.own, []
        for s in range(own.tw_result_sentences(handle)):
            T = own.tw_result_tokens(handle, s)
            sentence = []
            for p in range(own.tw_result_labellings(handle, s)):
                labels = [own.tw_result_label(handle, s, p, t) for t in range(T)]
                if None in labels:
                    labels = own.tw_result_labels(handle, s, p)[:T]
                shares = own.tw_result_label_probabilities(handle, s, p)
                none = None if own.tw_result_probability(handle, s, p) == 0 else []
                sentence.append((
                    [label.decode() if isinstance(label, bytes) else label for label in labels],
                    own.tw_result_score(handle, s, p), own.tw_result_probability(handle, s, p),
                    shares[:T] if shares else none,
                ))  # fmt: skip
            made.append(sentence)
        own.tw_result_free(handle)
        return made
