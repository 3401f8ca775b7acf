"""Make docs/benchmarks.md from the results of a run, and a file of all tables next to the results.

benchmarks/page.md is the text of the page. In it stand, for what a run left,

- {{table module/name}}, or {{table module/name | column | column}} for some of its columns;
- {{figure module/name what it shows}};
- {{behind module}}: the claims of a module that do not hold; {{counted}}: how many claims hold;
- {{about}}: machine and versions.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.frame.bench import about, markdown, today, write

PAGE = Path(__file__).parents[1] / "page.md"
ALL = "all.md"
PLACE = re.compile(r"\{\{(\w+) ?(.*?)\}\}")


class Results:
    """The results of a run."""

    def __init__(self, out: Path) -> None:
        """Read all tables and claims; FileNotFoundError where there are none."""
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

    def table(self, text: str) -> str:
        name, *columns = (part.strip() for part in text.split("|"))
        if name not in self.tables:
            return f"*({name} was not measured.)*"
        own = self.tables[name]
        header = own["header"]
        at = [header.index(column) for column in columns if column in header] or range(len(header))
        first, *rest = ([row[c] for c in at] for row in [header, *own["rows"]])
        made = markdown(first, rest)
        return f"{own['title']}\n\n{made}" + f"\n\n{own['note']}" * bool(own["note"])

    def figure(self, text: str) -> str:
        name, _, shown = text.partition(" ")
        file = name.replace("/", "_") + ".png"
        if not (self.out / "figures" / file).exists():
            return f"*({name} was not drawn.)*"
        return f"![{shown}](figures/{file})"

    def about(self, _: str) -> str:
        steps = [step for table in self.tables.values() for step in table["steps"]]
        dates, commits = ({step[key] for step in steps} or {"unknown"} for key in ("date", "commit"))
        when = min(dates) if len(dates) == 1 else f"{min(dates)} to {max(dates)}"
        path = self.out / "about.json"
        facts = json.loads(path.read_text(encoding="utf-8")) if path.exists() else about(path)
        rows = [["measured", when], ["commit", ", ".join(sorted(commits))], ["page made", today()]]
        rows += [[name, facts.pop(name)] for name in ("machine", "tagwright", "Python") if name in facts]
        rows.append(["packages", ", ".join(f"{name} {version}" for name, version in facts.items())])
        return markdown(["", ""], rows, figures=False)

    def behind(self, module: str) -> str:
        """Return the claims of a module that do not hold, and why; those of one kind and for one reason in one row."""
        own = [claim for claim in self.claims if not claim["holds"] and claim["module"] == module]
        if not own:
            return "All claims hold." if self.claims else "*(Nothing was claimed.)*"
        kinds: dict[str, dict[str, list[dict[str, Any]]]] = {}  # by reason and claim
        for claim in own:
            kinds.setdefault(claim["why"] or "We do not know why.", {}).setdefault(claim["what"], []).append(claim)
        rows = []
        for why, by_claim in kinds.items():
            for n, (what, group) in enumerate(by_claim.items()):
                figures = [f"{claim['where']}: {claim['measured']}".removeprefix(": ") for claim in group]
                against = together([claim["against"] for claim in group])
                rows.append([what, "; ".join(figures), against, "as above" if n else why])
        return markdown(["claim", "measured", "compared with", "why"], rows, figures=False)

    def all_claims(self) -> str:
        keys = ("module", "what", "where", "measured", "against")
        rows = [[*(claim[key] for key in keys), "yes" if claim["holds"] else "**no**"] for claim in self.claims]
        return markdown(["module", "claim", "where", "measured", "compared with", "holds"], rows, figures=False)

    def counted(self, _: str) -> str:
        return f"{sum(claim['holds'] for claim in self.claims)} of {len(self.claims)}"


def together(texts: list[str]) -> str:
    """Return several texts as one, without repeating a common prefix such as "paper: "."""
    if len(set(texts)) == 1:
        return texts[0]
    begin, colon, _ = texts[0].partition(": ")
    if colon and all(text.startswith(begin + colon) for text in texts):
        return begin + colon + "; ".join(text.removeprefix(begin + colon) for text in texts)
    return "; ".join(texts)


def collect(out: Path, docs: Path) -> Iterator[Path]:
    """Write the page and the file of all tables, copy the figures of the page, and return what was written."""
    results = Results(out)
    kinds = {"table": results.table, "figure": results.figure, "about": results.about}
    kinds |= {"behind": results.behind, "counted": results.counted}
    text = PLACE.sub(lambda found: kinds[found[1]](found[2]), PAGE.read_text(encoding="utf-8"))
    write(docs / "benchmarks.md", text)
    yield docs / "benchmarks.md"
    write(out / ALL, "\n\n".join(everything(results)) + "\n")
    yield out / ALL
    for path in sorted((out / "figures").glob("*.png")):
        if f"figures/{path.name}" in text:
            (docs / "figures").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, docs / "figures" / path.name)
            yield docs / "figures" / path.name


def everything(results: Results) -> Iterator[str]:
    """Yield all tables by module, all figures and all claims."""
    yield "# All measurements"
    for module, names in groupby(results.tables, lambda name: name.partition("/")[0]):
        yield f"## {module}"
        yield from map(results.table, names)
    yield "## Figures"
    yield from (f"![{path.stem}](figures/{path.name})" for path in sorted((results.out / "figures").glob("*.png")))
    yield "## Claims"
    yield results.all_claims()
    yield results.about("")
