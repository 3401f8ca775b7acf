"""Collect what was measured into the documentation: docs/benchmarks.md, to be read, and docs/benchmarks_all.md.

page.md is the text of the first. In it {{about}} stands for machine and versions, {{table module/name}} and {{figure
module/name}} for what a run left, {{behind}} for the claims that do not hold, {{claims module}} for those of a module,
{{counted}} for how many hold. Tables that the page does not show are on the second one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.frame.bench import about, markdown, today, write

PAGE = Path(__file__).parents[1] / "page.md"
PLACE = re.compile(r"\{\{(\w+) ?([\w/.=-]*)\}\}")


class Results:
    """What a run left behind."""

    def __init__(self, out: Path) -> None:
        """Read all tables and claims; FileNotFoundError where there is none."""
        self.out = out
        self.tables: dict[str, dict[str, Any]] = {}
        self.claims: list[dict[str, Any]] = []
        for path in sorted((out / "tables").glob("*/*.json")):
            value = json.loads(path.read_text(encoding="utf-8"))
            if path.name.endswith(".claims.json"):
                self.claims += [{"module": path.parent.name, **claim} for claim in value]
            else:
                self.tables[f"{path.parent.name}/{path.stem}"] = value
        if not self.tables:
            raise FileNotFoundError(f"{out} has no results; run `python -m benchmarks all` first")

    def table(self, name: str) -> str:
        if name not in self.tables:
            return f"*({name} was not measured.)*"
        own = self.tables[name]
        return f"{own['title']}\n\n{markdown(own['header'], own['rows'])}" + f"\n\n{own['note']}" * bool(own["note"])

    def figure(self, name: str) -> str:
        file = name.replace("/", "_") + ".png"
        if not (self.out / "figures" / file).exists():
            return f"*({name} was not drawn.)*"
        return f"![{name.rpartition('/')[2].replace('_', ' ')}](figures/{file})"

    def about(self, _: str) -> str:
        steps = [step for table in self.tables.values() for step in table["steps"]]
        dates, commits = ({step[key] for step in steps} or {"unknown"} for key in ("date", "commit"))
        when = min(dates) if len(dates) == 1 else f"{min(dates)} to {max(dates)}"
        path = self.out / "about.json"
        facts = json.loads(path.read_text(encoding="utf-8")) if path.exists() else about(path)
        rows = [["measured", when], ["commit", ", ".join(sorted(commits))], ["page made", today()]]
        return markdown(["", ""], [*rows, *map(list, facts.items())], figures=False)

    def behind(self, module: str) -> str:
        """The claims that do not hold, of a module or of all, and why."""
        own = [claim for claim in self.claims if not claim["holds"] and module in ("", claim["module"])]
        if not own:
            return "All hold." if self.claims else "*(Nothing was claimed.)*"
        grouped: dict[str, list[str]] = {}
        for claim in own:
            told = f"{claim['what']}: **{claim['measured']}** ({claim['against']})"
            grouped.setdefault(claim["why"] or "We do not know why.", []).append(told)
        rows = [["<br>".join(told), why] for why, told in grouped.items()]
        return markdown(["claims, what was measured, and what it is held against", "why"], rows, figures=False)

    def all_claims(self, module: str) -> str:
        """The claims of a module, or of all."""
        own = [claim for claim in self.claims if module in ("", claim["module"])]
        rows = [[c["what"], c["measured"], c["against"], "yes" if c["holds"] else "**no**"] for c in own]
        return markdown(["claim", "measured", "against", "holds"], rows, figures=False)

    def counted(self, _: str) -> str:
        return f"{sum(claim['holds'] for claim in self.claims)} of {len(self.claims)}"


def collect(out: Path, docs: Path) -> Iterator[Path]:
    """Write the pages and copy the figures; what was written comes out."""
    results = Results(out)
    shown: set[str] = set()

    def fill(found: re.Match[str]) -> str:
        what, name = found.groups()
        if what == "table":
            shown.add(name)
        kinds = {"table": results.table, "figure": results.figure, "about": results.about}
        kinds |= {"behind": results.behind, "claims": results.all_claims, "counted": results.counted}
        return kinds[what](name)

    text = PLACE.sub(fill, PAGE.read_text(encoding="utf-8"))
    write(docs / "benchmarks.md", text)
    yield docs / "benchmarks.md"
    write(docs / "benchmarks_all.md", "\n\n".join(everything_else(results, shown)) + "\n")
    yield docs / "benchmarks_all.md"
    for path in sorted((out / "figures").glob("*.png")):
        if f"figures/{path.name}" in text:
            (docs / "figures").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, docs / "figures" / path.name)
            yield docs / "figures" / path.name


def everything_else(results: Results, shown: set[str]) -> Iterator[str]:
    yield "# All measurements"
    yield "Tables that [the benchmarks](benchmarks.md) leave out, and all claims."
    module = ""
    for name in results.tables:
        if name not in shown:
            if module != name.partition("/")[0]:
                module = name.partition("/")[0]
                yield f"## {module}"
            yield results.table(name)
    yield "## Claims"
    yield results.all_claims("")
