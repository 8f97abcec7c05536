"""Puts the page of a report together: one HTML file with its style, its scripts and the chart library inside.

Run by CMake: python3 assemble.py CHART_JS OUT

The page may run exactly these scripts and no other: their hashes go into its Content-Security-Policy, so even a text
that found a way into the markup could not run. The place of the data stays open; the program fills it in.
"""

import base64
import hashlib
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent
OPEN = "@report.json@"


def source_hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def checked(name, text):
    """A source that may stand inside an element."""
    if re.search(r"</(script|style)|<!--", text, re.IGNORECASE):
        sys.exit(f"{name} would end its element early")
    return text.replace("\r\n", "\n")


def chart_library(path):
    text = path.read_text(encoding="utf-8")
    if not re.search(r"Chart\.js v3\..*MIT License", text[:1000], re.DOTALL):
        sys.exit(f"{path} is not Chart.js 3 with its licence notice")
    return re.sub(r"\n//# sourceMappingURL=.*", "", text)  # It would name a file that is not there.


def assemble(chart_js):
    page = (PAGE / "report.html").read_text(encoding="utf-8")
    hashes = {"script": [], "style": []}

    def inlined(match):
        element, name = match[1], match[2]
        if f"@{name}@" == OPEN:
            return match[0]
        text = chart_library(chart_js) if name == "chart.js" else (PAGE / name).read_text(encoding="utf-8")
        text = checked(name, text)
        hashes[element].append(source_hash(text))
        return f"<{element}>{text}</{element}>"

    page = re.sub(r"<(script|style)>@([\w.-]+)@</\1>", inlined, page)
    for element, found in hashes.items():
        page = page.replace(f"@{element}-hashes@", " ".join(found))
    if page.count(OPEN) != 1:
        sys.exit(f"{OPEN} must stand in the page once")
    return page


def main():
    chart_js, out = map(pathlib.Path, sys.argv[1:])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(assemble(chart_js), encoding="utf-8")


if __name__ == "__main__":
    main()
