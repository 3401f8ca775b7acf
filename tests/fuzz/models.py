"""Model files that are damaged behind their digest: refused, or good for answers that fit what they hold."""

import json
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from safetensors.numpy import load_file
from support import max_sums
from support.brute_force import Case, tolerance

import tagwright as tw
from tagwright.cli.info import describe
from tagwright.models import file as container
from tests.fuzz import TESTS
from tests.fuzz.commands import command

EXPECTED = (ValueError, OSError)
DATA = TESTS / "data" / "0.5.0"
DTYPES = {"|u1": "U8", "<u2": "U16", "<u4": "U32", "<u8": "U64", "<i4": "I32", "<f4": "F32", "<f8": "F64"}
EXTREMES = (0, 1, 2, 3, 7, 255, 65535, 2**31 - 1, 2**32 - 1, 2**63, -1, np.nan, np.inf, -np.inf, 1e30, 3e38, 1e300)
UNKNOWN = "0" * 64


def stored(name):
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


WORDS, READY = stored("words"), stored("ready_made")


def constrained(folder):
    """Write a model that keeps to a scheme, to pairs of labels and to a tag dictionary; return its path."""
    tags = sorted({tag for row in WORDS for _, tag in row})
    y = [["B-" + tag for _, tag in row] for row in WORDS]
    labels = [f"{prefix}-{tag}" for tag in tags for prefix in "BI"]
    observed = {pair for own in y for pair in pairwise(own)}
    forbidden = [pair for n, pair in enumerate(product(labels, labels)) if pair not in observed and n % 5 == 0]
    rules = tw.Constraints(labels, "BIO", forbid=forbidden)
    model = tw.CRF("U:%x[0,0]\nB\n", epochs=1, constraints=[rules, 3]).fit(WORDS, y).model_
    model.save(path := Path(folder) / "constrained.safetensors")
    return path


def with_vectors(folder):
    """Write a model that has the vectors of some words; return its path."""
    X, y = ([[token[n] for token in row] for row in WORDS] for n in (0, 1))
    words = sorted({word for own in X for word in own})[::2]
    vectors = tw.Vectors(words, np.random.default_rng(0).normal(size=(len(words), 3)))
    features = tw.Features("U:%x[0,0]\nUV:%vector[0,0,v]\nB\n", {"v": vectors})
    tw.CRF(features, epochs=1).fit(X, y).model_.save(path := Path(folder) / "vectors.safetensors")
    return path


with TemporaryDirectory() as folder:
    PATHS = [*sorted(DATA.glob("*.safetensors")), constrained(folder), with_vectors(folder)]
    FILES = {path.stem: path.read_bytes() for path in PATHS}
    PARTS = {path.stem: (container.read(path)[1], load_file(path)) for path in PATHS}
CORPUS = "".join("".join(f"{word}\t{tag}\tO\n" for word, tag in row) + "\n" for row in WORDS[1:6]).encode()


def damaged_array(draw, arrays):
    """Change one array in place of the old one."""
    name = draw.choice(list(arrays))
    array = arrays[name].copy()
    n = draw.randrange(len(array) + 1)
    match draw.randrange(9):
        case 0:
            del arrays[name]
            return
        case 1:
            array = array[:n]
        case 2:
            array = np.append(array, array[n:][: draw.times(5)])
        case 3:
            array = array.astype(draw.choice(list(DTYPES)))
        case 4:
            array = arrays[draw.choice(list(arrays))]
        case 5:
            array = array[::-1] if draw.chance(0.5) else np.sort(array)
        case _ if len(array):
            for _ in range(draw.times(5)):
                n = draw.randrange(len(array))
                with np.errstate(all="ignore"):
                    near = np.array([array[n] + 1, array[n] - 1, -array[n], array[0], array[-1]]).astype(array.dtype)
                    array[n] = draw.choice((*near, np.array(float(draw.choice(EXTREMES))).astype(array.dtype)))
    arrays[draw.text() if draw.chance(0.03) else name] = np.ascontiguousarray(array)


def file_of(draw, meta, arrays):
    """The bytes of a file, whose header may lie; its digest is that of what a reader sees."""
    header, data = {}, b""
    for name, array in arrays.items():
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": DTYPES[array.dtype.str], "shape": [len(array)], "data_offsets": offsets}
        data += array.tobytes()
    if header and draw.chance(0.15):
        name = draw.choice(list(header))
        header[name] = draw.note("entry", draw.damaged_json(header[name]))

    def written(digest):
        text = json.dumps({"about": meta, "digest": digest})
        head = json.dumps({"__metadata__": {"tagwright": text}, **header}).encode()
        return len(head).to_bytes(8, "little") + head + data

    made = written(UNKNOWN)
    try:
        arrays_ = container._arrays("", made, len(made) - len(data), header)
        digest = container._digest(json.loads(json.dumps(meta)), arrays_)
    except (ValueError, AttributeError):
        return made  # nothing can repair it
    assert len(digest) == len(UNKNOWN)
    return written(digest)


def attempt(draw):
    name = draw.note("model", draw.choice(list(FILES)))
    if draw.chance(0.15):
        made = draw.damaged(FILES[name])
    else:
        meta, arrays = PARTS[name]
        arrays = dict(arrays)
        for _ in range(draw.times(4)):
            if draw.chance(0.5):
                meta = draw.damaged_json(meta)
            else:
                damaged_array(draw, arrays)
        draw.note("about", meta)
        made = file_of(draw, meta, arrays)
    path = Path("model.safetensors")
    path.write_bytes(made)
    if draw.chance(0.15):
        Path("corpus.txt").write_bytes(CORPUS)
        arguments = draw.choice(("info", "tag corpus.txt -m", "eval corpus.txt -m", "tag -k2 -m"))
        command(draw, *arguments.split(), path, given=CORPUS)
        return False
    model = tw.load(path)
    X = READY if model.features is None else WORDS
    X = [draw.choice(X)[: draw.randint(1, 9)] for _ in range(draw.randint(0, 3))]
    return use(draw, model, draw.note("X", X))


def use(draw, model, X):
    """Ask a model for everything, and compare where the truth is known."""
    repr(model), describe(model, 3, 2), model.knows("the"), model.columns
    decoder = draw.note("decoder", draw.choice(("auto", "auto", "viterbi", "tree", "astar", "beam:2", "staggered")))
    k = 1 if decoder == "staggered" else draw.choice((1, 2, 5))
    found = model.tag_kbest(X, k, decoder, threads=draw.choice((1, 2)), proba=model.probabilistic and draw.chance(0.3))
    for sentence, own in zip(X, found, strict=True):
        assert 1 <= len(own) <= k
        assert all(len(one.labels) == len(sentence) for one in own)
        assert len({tuple(one.labels) for one in own}) == len(own)
        assert all(one.score >= other.score for one, other in pairwise(own))
    if model.probabilistic:
        for table in model.marginals(X):
            assert (abs(table.sum(axis=1) - 1) < 1e-4).all()
    if not isinstance(model, type(tw.load(DATA / "crf.safetensors"))) or decoder == "beam:2":
        return False
    for sentence, own in zip(X, found, strict=True):
        if sentence:
            case = lattice_of(model, sentence)
            truth = max_sums.best_scores(case, k)
            numbers = [[model.labels.index(label) for label in one.labels] for one in own]
            slack = np.array([tolerance(case, labels) for labels in numbers])
            assert len(truth) == len(own)
            assert (abs(truth - [one.score for one in own]) <= slack).all(), (truth, own)
    model.save("again.safetensors")
    assert tw.load("again.safetensors").tag_kbest(X, k, decoder) == model.tag_kbest(X, k, decoder)
    return True


def lattice_of(model, sentence):
    """The lattice of a sentence, with edges as the arrays have them."""
    nodes, _, on = model.lattice(sentence)
    arrays, L = model.arrays, len(model.labels)
    matrix = np.zeros((L, L))
    matrix[arrays["edges.previous"], arrays["edges.current"]] = arrays["edges.score"]
    steps = np.repeat(matrix[None], len(nodes) - 1, 0)
    for step, sets in zip(steps, on or [], strict=bool(on)):
        for number in sets:
            mine = arrays["corrections.set"] == number
            at = arrays["corrections.previous"][mine], arrays["corrections.current"][mine]
            np.add.at(step, at, arrays["corrections.score"][mine])
    start, stop = (np.array(arrays.get(end, np.zeros(L)), dtype=float) for end in ("start", "stop"))
    if (limits := model.constraints) is not None:
        may = np.array([[limits.may_follow(i, j) for j in model.labels] for i in model.labels])
        steps = np.where(may, steps, -np.inf)
        for ends, those in ((start, limits.start), (stop, limits.stop)):
            ends[[] if those is None else ~those] = -np.inf
        nodes = np.array(nodes)
        for scores, allowed in zip(nodes, limits.allowed(sentence), strict=True):
            scores[[] if allowed is None else np.setdiff1d(np.arange(L), allowed)] = -np.inf
    return Case(nodes, None, None, steps, start, stop)
