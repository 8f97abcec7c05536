"""The documents: every command in them runs as written, links lead somewhere, pages have the form that they promise.

Run: python3 tests/docs_test.py build/huddle

Commands stand in blocks marked `sh`, one a line. A comment before a block says what the test cannot know:

    <!-- run with: --tiny -->            appended to each command of the block, which would take long otherwise
    <!-- exits with: 1 -->               what its commands are shown for
    <!-- not run: reason -->             for what a machine without network or hours to spare cannot do
    <!-- file: mine.toml -->             before a block of another kind: the commands of the page read this file

The commands of a page run one after another in a folder of their own that has everything of the repository but out/.
Scenarios take a tenth of their steps there.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "huddle"
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NOTES = ("run with", "exits with", "not run", "file")
COMMAND = re.compile(r"^\s*(build/\w+|huddle|make|python3|tools/\w+\.py|cmake|ctest)\s")


@dataclass
class Block:
    """A fenced block and what the comments before it say."""

    language: str
    lines: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)


def blocks(document):
    found, notes, open_block = [], {}, None
    for line in document.read_text().splitlines():
        note = re.fullmatch(r"<!-- ([a-z ]+): (.+) -->", line)
        if line.startswith("```"):
            if open_block:
                found.append(open_block)
                open_block = None
            else:
                open_block = Block(line[3:].strip(), notes=notes)
                notes = {}
        elif open_block:
            open_block.lines.append(line)
        elif note and note[1] in NOTES:
            notes[note[1]] = note[2]
        elif line.strip():
            notes = {}
    return found


def commands(block):
    """(as written, as run) of each command; comments are the shell's."""
    for line in block.lines:
        written = re.sub(r"\s+#\s.*$", "", line).strip()
        if not written or written.startswith("#"):
            continue
        more = block.notes.get("run with", "")
        option = more.split(" ")[0]
        yield written, written if not more or option in written.split() else f"{written} {more}"


def shortened(scenario):
    return re.sub(r"\bsteps = (\d+)", lambda found: f"steps = {max(1, int(found[1]) // 10)}", scenario)


def run(command, folder):
    """Exit status and output. Whatever the command has started ends with it."""
    if command.startswith("make ") and "-n" not in command.split():
        return None, "make would build everything once more: say <!-- run with: -n --> before the block"
    with subprocess.Popen(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, start_new_session=True) as process:
        try:
            told, _ = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, "not over after 300 s"
    return process.returncode, told


def run_page(document):
    """What went wrong with the commands of a page; nothing if all is well."""
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for entry in ROOT.iterdir():
            if entry.name not in ("out", "build", "scenarios", ".git") and not entry.name.startswith("build-"):
                (folder / entry.name).symlink_to(entry)
        (folder / "scenarios").mkdir()
        for scenario in (ROOT / "scenarios").glob("*.toml"):
            (folder / "scenarios" / scenario.name).write_text(shortened(scenario.read_text()))
        (folder / "build").mkdir()  # Programs alone: nothing that a page does can change the build.
        for entry in PROGRAM.parent.iterdir():
            if entry.is_file() and os.access(entry, os.X_OK):
                (folder / "build" / entry.name).symlink_to(entry)
        for block in blocks(document):
            if "file" in block.notes:
                (folder / block.notes["file"]).write_text(shortened("\n".join(block.lines) + "\n"))
            if block.language != "sh" or "not run" in block.notes:
                continue
            wanted = int(block.notes.get("exits with", 0))
            for written, command in commands(block):
                status, told = run(command, folder)
                if status != wanted:
                    failures.append(f"{document.relative_to(ROOT)}: {written}\n  run as: {command}\n"
                                    f"  status {status}, not {wanted}\n{told[-1500:]}")
    return failures


def tables(document):
    """The rows of each table, as cells."""
    found, rows = [], []
    for line in [*document.read_text().splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]])
        elif rows:
            found.append(rows)
            rows = []
    return found


def anchors(document):
    """How GitHub calls the headings of a page."""
    text = re.sub(r"(?ms)^```.*?^```", "", document.read_text())
    heads = re.findall(r"(?m)^#+ (.*)$", text)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


class Commands(unittest.TestCase):
    def test_every_command_runs_as_written(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failures = [failure for page in pool.map(run_page, DOCUMENTS) for failure in page]
        self.assertEqual(failures, [], "\n\n".join(failures))

    def test_commands_stand_in_blocks_that_are_run(self):
        for document in DOCUMENTS:
            for block in blocks(document):
                if block.language != "sh":
                    hidden = [line for line in block.lines if COMMAND.match(line)]
                    self.assertEqual(hidden, [], f"{document.relative_to(ROOT)}: mark the block as sh")

    def test_few_are_not_run(self):
        silent = [f"{document.relative_to(ROOT)}: {block.notes['not run']}" for document in DOCUMENTS
                  for block in blocks(document) if "not run" in block.notes]
        self.assertLessEqual(len(silent), 3, silent)


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        missing = []
        for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]:
            text = re.sub(r"(?ms)^```.*?^```", "", document.read_text())
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+://|mailto:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (document.parent / path).resolve() if path else document
                if not target.exists() or (anchor and anchor not in anchors(target)):
                    missing.append(f"{document.relative_to(ROOT)}: {link}")
        self.assertEqual(missing, [])

    def test_documents_that_the_code_names_are_there(self):
        tracked = [path for folder in ("huddle", "bench", "tools", "tests", "examples", "clusters", "scenarios")
                   for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cc", ".py", ".toml", ".txt")]
        missing = [f"{path.relative_to(ROOT)}: {name}" for path in [*tracked, ROOT / "Makefile"]
                   for name in re.findall(r"\bdocs/[\w/]+\.md\b", path.read_text()) if not (ROOT / name).exists()]
        self.assertEqual(missing, [])


class Pages(unittest.TestCase):
    def test_every_strategy_has_a_page_of_the_same_form(self):
        listed = subprocess.run([PROGRAM, "list", "strategies"], capture_output=True, text=True, check=True).stdout
        names = set(re.findall(r"(?m)^(\w+)$", listed))
        pages = {page.stem: page for page in (ROOT / "docs" / "strategies").glob("*.md") if page.stem != "README"}
        self.assertEqual(set(pages), names)
        for name, page in pages.items():
            text = page.read_text()
            heads = re.findall(r"(?m)^## (.*)$", text)
            self.assertEqual(heads, ["Rule", "Picture", "Cost", "Theory", "When to use it", "Measured"], name)
            self.assertTrue(text.startswith(f"# `{name}`: "), name)
            self.assertIn(f"]({page.name})", (page.parent / "README.md").read_text())

    def test_a_study_begins_with_what_was_found_and_a_chart_of_its_figures(self):
        folder = ROOT / "docs" / "results"
        studies = sorted(page for page in folder.glob("*.md") if page.stem != "README")
        self.assertEqual({page.stem for page in studies}, {file.stem for file in folder.glob("*.json")})
        for page in studies:
            title, found, chart, *_ = page.read_text().split("\n\n")
            self.assertTrue(title.startswith("# "), page.name)
            self.assertRegex(found, r"(?s)^[A-Z`].*\.$")
            self.assertLessEqual(len(re.findall(r"[.:](?=\s+[A-Z`])", found)), 2, f"{page.name}: two sentences")
            self.assertRegex(chart, rf"^!\[.+\]\({page.stem}\.svg\)$")
            self.assertIn(f"]({page.name})", (folder / "README.md").read_text())
            self.assertLessEqual({"date", "machine"}, json.loads((folder / f"{page.stem}.json").read_text()).keys())

    def test_charts_and_tables_are_what_the_figures_give(self):
        sys.path.insert(0, str(ROOT / "tools"))
        import charts
        import headlines
        for file in sorted((ROOT / "docs" / "results").glob("*.json")):
            self.assertEqual(charts.drawing_of(file), file.with_suffix(".svg").read_text(), "run tools/charts.py")
        for name in headlines.SCENARIOS + headlines.STUDIES:
            page = (ROOT / "docs" / "results" / f"{name}.md").read_text()
            study = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text())
            self.assertEqual(headlines.with_tables(page, study), page, "run tools/headlines.py --tables")

    def test_no_table_is_wider_than_eight_columns(self):
        for document in DOCUMENTS:
            for rows in tables(document):
                self.assertEqual({len(row) for row in rows}, {len(rows[0])}, f"{document}: {rows[0]}")
                self.assertLessEqual(len(rows[0]), 8, f"{document}: {rows[0]}")

    def test_the_readme_fits_on_a_page(self):
        readme = ROOT / "README.md"
        self.assertLessEqual(len(readme.read_text().splitlines()), 100)
        self.assertEqual(len(re.findall(r"!\[", readme.read_text())), 1)
        (table,) = tables(readme)
        for row in table[2:]:
            for cell in row[1:]:
                self.assertRegex(cell, r"^[-+\d.x% *to]+$", "cells are figures")


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
