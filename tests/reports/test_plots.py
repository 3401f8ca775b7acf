"""Pictures: what they show is what was measured, and any label is only text."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.commands import complaint, printed, run, stopped
from support.corpora import ten_sentences
from support.documents import HOSTILE

import tagwright as tw
from tagwright.evaluation.breakdown import confusion_of
from tagwright.evaluation.calibration import Bin, Calibration
from tagwright.markup import cut, visible
from tagwright.reports.curves import curves_of
from tagwright.reports.plots import draw_calibration, draw_confusion, draw_curves, save_picture

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GOLD = EXAMPLES / "test.txt"
STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crf(tmp_path_factory):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; see the extra test")
    path = tmp_path_factory.mktemp("plots") / "crf.safetensors"
    train = [
        "train",
        EXAMPLES / "train.txt",
        path,
        "--label",
        "2",
        "--learner",
        "crf",
        "--set",
        "solver=lbfgs",
        "--set",
        "max_iterations=12",
    ]
    stopped(*train, "--dev", GOLD)
    return path


def texts(path):
    """All texts of an SVG, in order."""
    return ["".join(one.itertext()).strip() for one in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


MEASURED = Calibration(0.05, [Bin(0.2, 0.3, 10, 0.25, 0.3), Bin(0.9, 1.0, 990, 0.97, 0.92)])


@pytest.mark.parametrize("form", STARTS)
def test_pictures_are_files_of_their_kind_and_always_the_same(form, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; see the extra test")
    first, second = tmp_path / f"one.{form}", tmp_path / f"two.{form.upper()}"
    for path in (first, second):
        assert save_picture(path, lambda figure: draw_calibration(figure, MEASURED))
    assert first.read_bytes().startswith(STARTS[form])
    assert first.read_bytes() == second.read_bytes()


def test_the_calibration_that_is_drawn_is_that_of_eval(crf, tmp_path):
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    assert printed("report", "--plot", "calibration", "-m", crf, GOLD, "-o", one) == ""
    table = printed("eval", "-m", crf, GOLD)
    assert printed("report", "--plot", "calibration", "-m", crf, GOLD, "-o", two, "--threads", "2") == ""
    assert one.read_bytes() == two.read_bytes()
    error = re.search(r"calibration error +337 +([\d.]+)", table)[1]
    assert f"model, error {error}%" in texts(one)


def test_the_heat_map_has_the_counts_of_the_evaluation(crf, tmp_path):
    path = tmp_path / "confusion.svg"
    printed("report", "--plot", "confusion", "-m", crf, GOLD, "-o", path, "--most", "6")
    X, y = tw.read(GOLD, label=2)
    table = confusion_of(tw.evaluate(y, tw.load(crf).tag_batch(X)), 6)
    shown = texts(path)
    counts = [str(count) for row in table.counts for count in row if count]
    assert [text for text in shown if text.isdecimal()][: len(counts)] == counts
    for label in table.labels:
        assert shown.count(label) == 2
    assert "gold label" in shown
    assert "share of the row, %" in shown
    assert f"predicted label; numbers are tokens, {table.shown} of {table.wrong} mistakes" in shown


def test_curves_have_a_panel_per_measure_and_a_line_per_model(crf, tmp_path):
    other = crf.with_name("other.safetensors")
    other.write_bytes(crf.read_bytes())
    path = tmp_path / "curve.svg"
    printed("report", "--plot", "curve", crf, other, "-o", path)
    shown = texts(path)
    assert {"objective", "accuracy on dev, %", "iteration", "crf.safetensors", "other.safetensors"} <= {*shown}


def test_the_points_are_those_that_were_measured():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    draw_calibration(figure, MEASURED)
    top, bottom = figure.axes
    ideal, line = top.get_lines()
    assert line.get_xydata().ravel().tolist() == pytest.approx([25, 30, 97, 92])
    assert ideal.get_xydata().tolist() == [[0, 0], [100, 100]]
    assert [bar.get_height() for bar in bottom.patches] == [10, 990]
    assert [axes.get_ylabel() for axes in figure.axes] == ["right, %", "tokens"]
    assert bottom.get_xlabel() == "probability of the label, %"


def test_hostile_labels_are_only_text(tmp_path):
    pytest.importorskip("matplotlib")
    gold, guess = [HOSTILE], [[*HOSTILE[1:], HOSTILE[0]]]
    table = confusion_of(tw.evaluate(gold, guess), 40)
    path = tmp_path / "hostile.svg"
    save_picture(path, lambda figure: draw_confusion(figure, table))
    shown = [" ".join(text.split()) for text in texts(path)]
    for label in HOSTILE:
        assert " ".join(cut(visible(label), 24).split()) in shown
    assert not re.search(r"<script|onerror=.|onload=.", path.read_text(encoding="utf-8"))
    save_picture(tmp_path / "hostile.png", lambda figure: draw_confusion(figure, table))


def test_letters_that_the_font_lacks_are_a_warning(crf, tmp_path):
    X, y = [["a", "b"]], [["名词", "动词"]]
    model = tw.HMM().fit(X, y).model_
    model.save(tmp_path / "zh.safetensors")
    (tmp_path / "zh.txt").write_text("a\t动词\nb\t名词\n\n", encoding="utf-8")
    png, svg = tmp_path / "x.png", tmp_path / "x.svg"
    done = run("report", "--plot", "confusion", "-m", tmp_path / "zh.safetensors", tmp_path / "zh.txt", "-o", png)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("Warning: the font of the picture lacks some letters")
    assert (
        printed("report", "--plot", "confusion", "-m", tmp_path / "zh.safetensors", tmp_path / "zh.txt", "-o", svg)
        == ""
    )
    assert "名词" in texts(svg)


def test_what_cannot_be_drawn_is_reported(crf, tmp_path):
    path = tmp_path / "x.png"
    X, y = ten_sentences()
    tw.HMM().fit(X, y).model_.save(tmp_path / "hmm.safetensors")
    tw.Perceptron(epochs=1).fit(X, y).model_.save(tmp_path / "perceptron.safetensors")
    (tmp_path / "gold.txt").write_text("dog\tNN\n\n")
    assert "keeps no history" in complaint("report", "--plot", "curve", tmp_path / "hmm.safetensors", "-o", path)
    gold = ["-m", tmp_path / "perceptron.safetensors", tmp_path / "gold.txt"]
    assert "not probabilities" in complaint("report", "--plot", "calibration", *gold, "-o", path)
    assert "ends in .png, .svg, .pdf" in complaint("report", "--plot", "confusion", *gold, "-o", tmp_path / "x.jpg")
    assert "not probabilities" in complaint("report", *gold, "--plot", "calibration", "-o", path)
    assert "ends in .png, .svg, .pdf" in complaint("report", "--plot", "curve", crf, "-o", "-")
    assert "100" in complaint("report", "--plot", "confusion", *gold, "-o", path, "--most", "101")
    assert not path.exists()


def test_a_picture_may_go_to_a_stream(crf, tmp_path):
    with (tmp_path / "x").open("wb") as file:
        save_picture(file, lambda figure: draw_curves(figure, [("m", curves_of(tw.load(crf)))]), "png")
    assert (tmp_path / "x").read_bytes().startswith(STARTS["png"])


def test_without_matplotlib_there_is_a_clear_error(tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None; from tagwright.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "report",
            "--plot",
            "confusion",
            str(GOLD),
            "--label",
            "2",
            "-o",
            str(tmp_path / "x.png"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "Error: pictures need matplotlib: pip install 'tagwright[plot]'\n"


def test_other_commands_never_import_matplotlib():
    code = "import sys, tagwright as tw; tw.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
