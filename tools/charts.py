#!/usr/bin/env python3
"""Draws the chart of each study from the figures beside it: docs/results/NAME.json -> docs/results/NAME.svg.

    tools/charts.py                 draws all of them
    tools/charts.py NAME.json ...   these
    tools/charts.py --check         draws nothing; status 1 and their names where a drawing is not what its figures give

A chart is a value, the key "chart" of the file (for a comparison tools/studies.py makes it of the rows):

    {"title": ..., "rows": [labels], "strong": [labels], "panels": [{"title": ..., "scale": "linear" or "log",
     "reference": x, "unit": ..., "series": [{"name": ..., "values": [x or null], "low": [...], "high": [...]}]}]}
    {"title": ..., "x": {"title": ..., "scale": ...}, "y": {...}, "lines": [{"name": ..., "points": [[x, y], ...]}]}

Rows are for figures of things that have names, one dot each with its interval; lines for what depends on a number.
Colours follow the reader's light or dark scheme. Needs nothing but Python's standard library.
"""

import argparse
import json
import math
import pathlib
import sys
from html import escape

import studies

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, MARGIN, CHARACTER = 880, 16, 7
STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: 600 } .strong { font-weight: 600 } .soft { fill: #59636e }
.paper { fill: #ffffff } .band { fill: #f3f5f7 } .grid { stroke: #d8dee4 } .axis { stroke: #818b98 }
.mark { stroke: #818b98; stroke-dasharray: 3 3 } .line { fill: none; stroke-width: 1.5 } .range { stroke-width: 1.5 }
.c0 { fill: #0969da; stroke: #0969da } .c1 { fill: #bc4c00; stroke: #bc4c00 } .c2 { fill: #1a7f37; stroke: #1a7f37 }
.c3 { fill: #8250df; stroke: #8250df } .line { fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .soft { fill: #9198a1 } .paper { fill: #0d1117 } .band { fill: #151b23 }
.grid { stroke: #2b323b } .axis, .mark { stroke: #6e7681 }
.c0 { fill: #58a6ff; stroke: #58a6ff } .c1 { fill: #f0883e; stroke: #f0883e } .c2 { fill: #3fb950; stroke: #3fb950 }
.c3 { fill: #bc8cff; stroke: #bc8cff } .line { fill: none }
}"""


def number(value):
    """As short as it can be said."""
    return f"{value:.3g}".replace("-", "\u2212")


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def dot(x, y, index):
    """Series differ by shape too, for those who see colours alike."""
    kind = f"c{index % 4}"
    if index % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{kind}"/>'
    shapes = [[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)], [(0, -5), (5, 0), (0, 5), (-5, 0)],
              [(-4.5, 3.5), (4.5, 3.5), (0, -4.5)]]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[index % 4 - 1])
    return f'<polygon points="{points}" class="{kind}"/>'


class Scale:
    """From values to places between two ends of the drawing."""

    def __init__(self, values, start, end, kind="linear", from_zero=False):
        self.log = kind == "log"
        low, high = min(values), max(values)
        if from_zero:
            low, high = min(low, 0), max(high, 0)
        if self.log:
            low, high = low / 1.08, high * 1.08
        else:
            room = 0.04 * ((high - low) or abs(high) or 1)
            low = low if from_zero and low == 0 else low - room
            high = high if from_zero and high == 0 else high + room
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        def at(one):
            return math.log(one) if self.log else one
        share = (at(value) - at(self.low)) / (at(self.high) - at(self.low))
        return self.start + share * (self.end - self.start)

    def ticks(self, most):
        if self.log:
            for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
                every = [digit * 10.0 ** power for power in range(-6, 7) for digit in digits]
                inside = [tick for tick in every if self.low <= tick <= self.high]
                if len(inside) <= most:
                    break
            return inside
        raw = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]


def ends(series, index):
    """A value and its interval, the value itself where there is none."""
    value = series["values"][index]
    low, high = (series.get(key, [None] * (index + 1))[index] for key in ("low", "high"))
    return value, value if low is None else low, value if high is None else high


def all_values(panel):
    found = [panel["reference"]] if "reference" in panel else []
    for series in panel["series"]:
        for index, value in enumerate(series["values"]):
            if value is not None:
                found.extend(ends(series, index))
    return found


def names_of(panel):
    return [series["name"] for series in panel["series"]]


def legend(x, y, names):
    for index, name in enumerate(names):
        yield dot(x + 5, y - 4, index)
        yield text(x + 14, y, name, "soft")
        x += 24 + CHARACTER * len(name)


def panel_drawing(panel, rows, left, right, top, height, named):
    """One column of dots, with its scale below; its series are named unless those before it were the same."""
    many = len(panel["series"]) > 1
    room = 44 if not many else 8  # Values are written beside the dots where there is one series.
    scale = Scale(all_values(panel), left + 8, right - room, panel.get("scale", "linear"), panel.get("from_zero"))
    bottom = top + height * len(rows)
    yield text(left, top - (34 if many else 16), panel["title"])
    if many and not named:
        yield from legend(left, top - 14, names_of(panel))
    for tick in scale.ticks(max(3, int((right - left) / 40))):
        yield line(scale(tick), top, scale(tick), bottom, "grid")
        yield text(scale(tick), bottom + 16, number(tick), "soft", "middle")
    yield line(left, bottom, right, bottom, "axis")
    if "reference" in panel:
        yield line(scale(panel["reference"]), top, scale(panel["reference"]), bottom, "mark")
    if "unit" in panel:
        yield text((left + right) / 2, bottom + 34, panel["unit"], "soft", "middle")
    spread = min(6, (height - 8) / len(panel["series"]))
    for index, series in enumerate(panel["series"]):
        shift = (index - (len(panel["series"]) - 1) / 2) * spread
        for row in range(len(rows)):
            if series["values"][row] is None:
                continue
            value, low, high = ends(series, row)
            y = top + height * (row + 0.5) + shift
            if scale(high) - scale(low) > 1:
                yield line(scale(low), y, scale(high), y, f"range c{index % 4}")
            yield dot(scale(value), y, index)
            if not many:
                yield text(max(scale(high), scale(value) + 4) + 5, y + 4, number(value), "soft")


def rows_chart(chart):
    rows, panels = chart["rows"], chart["panels"]
    height = 26 if any(len(panel["series"]) > 2 for panel in panels) else 21
    many = any(len(panel["series"]) > 1 for panel in panels)
    top = 30 + (48 if many else 30)
    left = MARGIN + 14 + CHARACTER * max(len(row) * (1.08 if row in chart.get("strong", []) else 0.96) for row in rows)
    bottom = top + height * len(rows)
    for row, label in enumerate(rows):
        if row % 2 == 0:
            yield (f'<rect x="{MARGIN}" y="{top + height * row}" width="{WIDTH - 2 * MARGIN}" height="{height}" '
                   'class="band"/>')
        strong = "strong" if label in chart.get("strong", []) else ""
        yield text(left - 12, top + height * (row + 0.5) + 4, label, strong, "end")
    gap = 22
    shares = [panel.get("share", 1) for panel in panels]
    at, whole = left, WIDTH - MARGIN - left - gap * (len(panels) - 1)
    before = None
    for panel, share in zip(panels, shares):
        width = whole * share / sum(shares)
        yield from panel_drawing(panel, rows, at, at + width, top, height, names_of(panel) == before)
        before = names_of(panel)
        at += width + gap
    return bottom + (44 if any("unit" in panel for panel in panels) else 28)


def apart(places, distance):
    """The same places in the same order, moved so far that no two are closer than this."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    for before, after in zip(order, order[1:]):
        moved[after] = max(moved[after], moved[before] + distance)
    return moved


def lines_chart(chart):
    lines = chart["lines"]
    right = WIDTH - MARGIN - 14 - CHARACTER * max(len(one["name"]) for one in lines)
    left, top, bottom = MARGIN + 44, 62, 320
    points = [point for one in lines for point in one["points"]]
    across = Scale([point[0] for point in points], left, right, chart["x"].get("scale", "linear"))
    up = Scale([point[1] for point in points], bottom, top, chart["y"].get("scale", "linear"),
               chart["y"].get("from_zero"))
    yield text(MARGIN, top - 14, chart["y"]["title"], "soft")
    yield text((left + right) / 2, bottom + 36, chart["x"]["title"], "soft", "middle")
    for tick in up.ticks(6):
        yield line(left, up(tick), right, up(tick), "grid")
        yield text(left - 8, up(tick) + 4, number(tick), "soft", "end")
    for tick in chart["x"].get("ticks") or across.ticks(8):
        yield line(across(tick), bottom, across(tick), bottom + 4, "axis")
        yield text(across(tick), bottom + 18, number(tick), "soft", "middle")
    yield line(left, bottom, right, bottom, "axis")
    names = apart([up(one["points"][-1][1]) for one in lines], 15)
    for index, one in enumerate(lines):
        places = [(across(x), up(y)) for x, y in one["points"]]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" class="c{index % 4} line"/>'
        yield from (dot(x, y, index) for x, y in places)
        yield text(places[-1][0] + 10, names[index] + 4, one["name"], "strong")
    return bottom + 46


def draw(chart):
    """The whole file."""
    parts, drawing = [], (rows_chart if "rows" in chart else lines_chart)(chart)
    while True:  # A generator gives its height at the end, by `return`.
        try:
            parts.append(next(drawing))
        except StopIteration as end:
            height = math.ceil(end.value)
            break
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img">')
    return "\n".join([head, f"<title>{escape(chart['title'])}</title>", f"<style>{STYLE}\n</style>",
                      f'<rect width="{WIDTH}" height="{height}" class="paper"/>',
                      text(MARGIN, 24, chart["title"], "title"), *parts, "</svg>"]) + "\n"


def drawing_of(file):
    study = json.loads(file.read_text())
    return draw(study["chart"] if "chart" in study else studies.chart(study))


def main():
    parser = argparse.ArgumentParser(description="Draws the charts of docs/results from the figures beside them.")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="NAME.json")
    parser.add_argument("--check", action="store_true", help="draw nothing; tell what is not drawn from its figures")
    options = parser.parse_args()
    stale = []
    for file in options.files or sorted((ROOT / "docs" / "results").glob("*.json")):
        drawn, picture = drawing_of(file), file.with_suffix(".svg")
        if options.check:
            if not picture.exists() or picture.read_text() != drawn:
                stale.append(picture)
        else:
            picture.write_text(drawn)
    for picture in stale:
        print(f"{picture}: not what the figures beside it give; run tools/charts.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
