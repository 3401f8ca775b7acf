"""Heat maps as tables, and pictures as inline SVG; the style of the page has the colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tagwright.evaluation.breakdown import Confusion
from tagwright.evaluation.calibration import Calibration
from tagwright.markup import Html, counted, cut, join, tag
from tagwright.reports.blocks import NONE, wide

PLOT = (52, 14, 14, 44)  # left, top, right and bottom margin of a chart
LONGEST_LABEL = 20  # characters
MOST_DOTS = 60  # on a line, which shows its points up to this number


def svg(width: float, height: float, title: str, *parts: Html, class_: str = "chart") -> Html:
    """Return a picture that screen readers call by its title, as wide as the page lets it be."""
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        class_=class_,
        role="img",
        aria_label=title,
    )


def bar(share: float, interval: tuple[float, float] | None = None) -> Html:
    """Return a share as a bar, with a line for where it lies with 95 % confidence; it stands beside the number."""
    width, height = 120, 14
    parts = [
        tag("rect", x=0, y=2, width=width, height=10, class_="track"),
        tag("rect", x=0, y=2, width=width * share, height=10, class_="bar"),
    ]
    if interval:
        low, high = (width * end for end in interval)
        parts.append(tag("path", d=f"M{low:.1f} 4V10M{low:.1f} 7H{high:.1f}M{high:.1f} 4V10", class_="whisker"))
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="bar-cell",
        aria_hidden="true",
    )


def heat_map(name: str, table: Confusion) -> Html:
    """Return a table of confusions: a row per gold label, the darker the larger the share of the row.

    Right labels are in frames, on the diagonal; wrong labels have another colour.
    """
    names, titles = [*table.labels], [cut(label or NONE) for label in table.labels]
    if any(row[-1] for row in table.counts):
        names, titles = [*names, "other"], [*titles, "all others"]
    columns = [
        tag("th", tag("span", cut(label or NONE, LONGEST_LABEL)), scope="col", title=title)
        for label, title in zip(names, titles, strict=True)
    ]
    corner = tag("td", "gold ↓ predicted →", class_="corner")
    rows = []
    for g, label in enumerate(table.labels):
        head = tag("th", tag("bdi", cut(label or NONE, LONGEST_LABEL)), scope="row", title=titles[g])
        rows.append(tag("tr", head, *(_cell(table, g, p, titles) for p in range(len(names)))))
    parts = [tag("thead", tag("tr", corner, *columns)), tag("tbody", *rows)]
    return wide(name, tag("table", *parts, class_="heat"))


def _cell(table: Confusion, g: int, p: int, titles: Sequence[str]) -> Html:
    count = table.counts[g][p]
    if not count:
        return tag("td", "")
    share = table.share(g, p)
    caption = f"{titles[g]} tagged {titles[p]}: {count:,} of {sum(table.counts[g]):,}, {share:.1%}"
    # A root makes rare confusions visible beside frequent ones.
    strength = f"--p: {0.06 + 0.94 * math.sqrt(share):.2f}"
    return tag("td", short(count), class_="right" if g == p else "wrong", style=strength, title=caption)


def short(count: int) -> str:
    """Return a count in at most four characters."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:.1f}{unit}" if count < 10 * size else f"{count // size}{unit}"
    return str(count)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high, both included where they are round, at most `most`."""
    if not high > low:
        return [low]
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


class Frame:
    """The axes of a chart of this size: numbers to places, lines and names; x, y: the ranges of the axes."""

    def __init__(self, width: float, height: float, x: tuple[float, float], y: tuple[float, float]) -> None:
        left, top, right, bottom = PLOT
        self.left, self.top, self.right, self.bottom = left, top, width - right, height - bottom
        self.width, self.height, self._x, self._y = width, height, x, y

    def x(self, value: float) -> float:
        """Return the place of a value on the horizontal axis."""
        low, high = self._x
        return self.left + (value - low) / ((high - low) or 1.0) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the place of a value on the vertical axis."""
        low, high = self._y
        return self.bottom - (value - low) / ((high - low) or 1.0) * (self.bottom - self.top)

    def axes(self, names: tuple[str, str], show: tuple[Callable[[float], str], Callable[[float], str]]) -> list[Html]:
        """Return lines and numbers at round values, and what the axes are."""
        parts = []
        for value in ticks(*self._y):
            y = self.y(value)
            parts.append(tag("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", show[1](value), x=self.left - 6, y=y + 4, text_anchor="end"))
        for value in ticks(*self._x):
            parts.append(tag("text", show[0](value), x=self.x(value), y=self.bottom + 16, text_anchor="middle"))
        middle = (self.left + self.right) / 2
        parts.append(tag("line", x1=self.left, x2=self.right, y1=self.bottom, y2=self.bottom, class_="base"))
        parts.append(tag("text", names[0], x=middle, y=self.height - 8, text_anchor="middle", class_="axis"))
        turned = f"translate(12 {(self.top + self.bottom) / 2:g}) rotate(-90)"
        parts.append(tag("text", names[1], transform=turned, text_anchor="middle", class_="axis"))
        return parts


def line_chart(points: Sequence[tuple[int, float]], x_name: str, y_name: str) -> Html:
    """Return a line through points (number, value)."""
    numbers, heights = [n for n, _ in points], [v for _, v in points]
    low, high = min(heights), max(heights)
    room = (high - low) * 0.06
    frame = Frame(340, 220, (min(numbers), max(numbers)), (low - room, high + room))
    across = [f"{frame.x(n):.1f},{frame.y(v):.1f}" for n, v in points]
    parts = frame.axes((x_name, y_name), (lambda n: f"{n:g}", rounded))
    parts.append(tag("polyline", points=" ".join(across), class_="line"))
    if len(points) <= MOST_DOTS:
        parts += [
            tag("circle", tag("title", f"{x_name} {n}: {v:,.6g}"), cx=frame.x(n), cy=frame.y(v), r=3, class_="dot")
            for n, v in points
        ]
    ends = f"{y_name} by {x_name}: {points[0][1]:,.6g} at {points[0][0]}, {points[-1][1]:,.6g} at {points[-1][0]}"
    return svg(frame.width, frame.height, ends, *parts)


def rounded(value: float) -> str:
    """Return a number on an axis."""
    return f"{value / 1000:.6g}k" if 10_000 <= abs(value) < 1e9 else f"{value:.6g}"


def reliability(found: Calibration) -> Html:
    """Return the share of right labels against their probability, beside the line on which they are equal."""
    frame = Frame(340, 320, (0.0, 1.0), (0.0, 1.0))
    percent: Callable[[float], str] = lambda value: f"{100 * value:.0f}"  # noqa: E731
    parts = frame.axes(("probability of the label, %", "right, %"), (percent, percent))
    parts.append(tag("line", x1=frame.x(0), y1=frame.y(0), x2=frame.x(1), y2=frame.y(1), class_="ideal"))
    tokens = sum(own.tokens for own in found.bins)
    points = " ".join(f"{frame.x(own.probability):.1f},{frame.y(own.accuracy):.1f}" for own in found.bins)
    parts.append(tag("polyline", points=points, class_="line"))
    for own in found.bins:
        x, y = frame.x(own.probability), frame.y(own.accuracy)
        caption = f"{counted(own.tokens, 'token')}, mean probability {own.probability:.1%}, right {own.accuracy:.1%}"
        parts.append(tag("line", x1=x, x2=x, y1=frame.y(own.probability), y2=y, class_="gap"))
        radius = 3 + 9 * math.sqrt(own.tokens / tokens)
        parts.append(tag("circle", tag("title", caption), cx=x, cy=y, r=radius, class_="dot"))
    return svg(frame.width, frame.height, "Share of right labels by their probability", *parts)


def legend(*entries: tuple[str, str]) -> Html:
    """Return what colours mean: pairs of a class and a text."""
    return tag(
        "p", join([join([tag("span", "", class_=f"key {kind}"), f" {text} "]) for kind, text in entries]), class_="note"
    )
