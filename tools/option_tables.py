"""Write docs/options.md from the table of options in tagwright.learners.options."""

from pathlib import Path

from tagwright.learners import LEARNERS
from tagwright.learners.options import REFUSED, SHOWN, SOLVERS, learner_class, options_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "options.md"
INTRODUCTION = """\
# Options of learners and solvers

Every option is declared once, in `src/tagwright/learners/options.py`; estimators, `tagwright train --set NAME=VALUE`,
`tagwright tune`, docstrings and this page read that declaration. `python tools/option_tables.py` writes this page.
Options of a solver are set by its object, `tw.CRF(solver=tw.LBFGS(l2=0.1))`, by their plain names on the command line
(`--set solver=lbfgs --set l2=0.1`), and as `solver__l2` in scikit-learn's searches.
"""


def cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return text.replace("``", "`").replace("|", "\\|")


def table(owner: type) -> list[str]:
    """Return the options of a class as lines."""
    lines = ["| option | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, option in options_of(owner).items():
        lines.append(f"| `{name}` | {cell(option.kind)} | `{option.default!r}` | {cell(option.help)} |")
    return lines


def page() -> str:
    """Return the page."""
    owners = [learner_class(kind) for kind in LEARNERS] + list(SOLVERS.values())
    lines = [INTRODUCTION.rstrip("\n")]
    for owner in owners:
        lines += ["", f"## {owner.__name__}", "", *table(owner)]
    lines += [
        "", "## Combinations that are refused", "",
        "All other combinations of learners, options and ways to train work.", "",
        "| what | with | reason |", "| --- | --- | --- |",
        *(f"| {what} | {cell(SHOWN.get(owner, owner))} | {cell(why)} |" for (owner, what), why in REFUSED.items()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
