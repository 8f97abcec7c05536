#!/usr/bin/env python3
"""Runs the scenarios of the papers' headlines and writes what they come to into docs/results.

    tools/headlines.py                     all of them, with the build in build/ (within an hour on 2 cores)
    tools/headlines.py sesgd_latency       these only; the others keep their tables
    tools/headlines.py --tables            runs nothing: tables and charts again, from the figures beside the pages
    tools/headlines.py --tiny              seconds: a piece of each scenario, on digits; prints tables, changes no file

A scenario has a page, NAME.md, with its tables between two comments that name it; NAME.json, the figures; and NAME.svg,
a chart of them. Exit status 1 when a run fails or an expectation of a scenario does not hold; the tables are written
all the same.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import charts
import studies

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "results"
SCENARIOS = ["sesgd_latency", "ds_sync_bottleneck", "overlap_hiding", "p_reduce_heterogeneous"]
STUDIES = ["accuracy", "defaults"]  # Not a claim of any paper: only where it is named.


def place_of(page, name):
    """What stands before and after the tables of a page, with their marks. Ends the program where one is missing."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"docs/results/{name}.md has no place for its tables: add the lines {begin.strip()} and "
                         f"{end.strip()}")
    return before + begin, end + after


def with_tables(page, study):
    before, after = place_of(page, study["study"])
    return before + "\n".join(studies.tables(study)) + "\n" + after


def write_page(name):
    """Tables and chart, from the figures beside them."""
    figures, page = PAGES / f"{name}.json", PAGES / f"{name}.md"
    page.write_text(with_tables(page.read_text(), json.loads(figures.read_text())))
    figures.with_suffix(".svg").write_text(charts.drawing_of(figures))


def compare(program, scenario, folder):
    """The exit status of a comparison. Ends the program where it could not be made at all."""
    run = subprocess.run([program, "compare", scenario, "--out", folder], cwd=ROOT, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(run.returncode)
    return run.returncode


def tiny_scenario(text):
    """The same scenario with digits, few steps, one seed, one rate, its first case and its first three strategies."""
    head, *sections = re.split(r"(?m)^(?=\[)", text)
    kept, counts = [head], {"[[case]]": 1, "[[strategy]]": 3, "[[expect]]": 0, "[tune]": 0}
    for section in sections:
        name = section.partition("\n")[0].strip()
        if name.startswith("[case."):
            name = "[[case]]"
        counts[name] = counts.get(name, 99) - (0 if section.startswith("[case.") else 1)
        if counts[name] >= 0:
            kept.append(section)
    small = "".join(kept).replace('"fashion_mnist"', '"digits"')
    for pattern, value in ((r"\bsteps = \d+", "steps = 16"), (r"evaluate_every = \d+", "evaluate_every = 8"),
                           (r"seeds = \[.*?\]", "seeds = [1]"), (r"swa_start = \d+", "swa_start = 8"),
                           (r"swa_every = \d+", "swa_every = 4"), (r"warmup=\d+", "warmup=4"),
                           (r"workload = \{ steps.*\n", ""), (r"(?s)\ncases = \[.*?\]", ""),
                           (r"(?m)(?<== )\[([^,\]]+),.*?\](?=.* \}$)", r"[\1]")):  # Of a sweep, the first value.
        small = re.sub(pattern, value, small)
    return small


def run_tiny(program, names):
    """All that a headline does, in seconds, with nothing written beside the documents."""
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            scenario = folder / f"{name}.toml"
            scenario.write_text(tiny_scenario((ROOT / "scenarios" / f"{name}.toml").read_text()))
            status = compare(program, scenario, folder / "out")
            if status != 0:
                return status
            study = studies.extract(json.loads((folder / "out" / "results.json").read_text()), datetime.date.today())
            print("\n".join(studies.tables(json.loads(studies.written(study)))))
    return 0


def run_all(program, names, results):
    fetched = subprocess.run([sys.executable, ROOT / "tools" / "fetch_data.py", "fashion_mnist"], check=False)
    if fetched.returncode != 0:
        return fetched.returncode
    status = 0
    for name in names:
        place_of((PAGES / f"{name}.md").read_text(), name)
    for name in names:
        print(f"[huddle] {name} ...", flush=True)
        status = compare(program, name, results / name) or status
        study = studies.extract(json.loads((results / name / "results.json").read_text()), datetime.date.today())
        (PAGES / f"{name}.json").write_text(studies.written(study))
        write_page(name)
    return status


def main():
    parser = argparse.ArgumentParser(description="Runs the papers' headlines and collects them in docs/results.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS + STUDIES)}")
    parser.add_argument("--program", type=pathlib.Path, default="build/huddle")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "compare", help="folder of comparisons")
    parser.add_argument("--tables", action="store_true", help="run nothing; write tables and charts from the figures")
    parser.add_argument("--tiny", action="store_true", help="a piece of each, on digits; no file is changed")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS + STUDIES)
    if unknown:
        parser.error(f"no headline is called {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS + STUDIES)}")
    if options.tables:
        for name in options.scenarios or SCENARIOS + STUDIES:
            write_page(name)
        return 0
    names, options.program = options.scenarios or SCENARIOS, options.program.resolve()
    return run_tiny(options.program, names) if options.tiny else run_all(options.program, names, options.results)


if __name__ == "__main__":
    sys.exit(main())
