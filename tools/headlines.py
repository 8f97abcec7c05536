#!/usr/bin/env python3
"""Runs the scenarios of the papers' headlines and writes what they come to into docs/results.md.

    tools/headlines.py                     all of them, with the build in build/ (within an hour on 2 cores)
    tools/headlines.py sesgd_latency       these only; the others keep their tables

Each scenario's part of the document stands between two comments that name it. Exit status 1 when a run fails or an
expectation of a scenario does not hold; the tables are written all the same.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ["sesgd_latency", "ds_sync_bottleneck", "overlap_hiding", "p_reduce_heterogeneous"]
STUDIES = ["accuracy"]  # Hours: only where it is named.


def matrix(results, corner, labels, cell):
    """Rows are strategies, columns cases; `cell` makes the text of one. One column where all cases are alike."""
    rows = {(row["case"], row["label"]): row for row in results["table"]}
    cases = list(dict.fromkeys(row["case"] for row in results["table"]))
    cells = {label: [cell(rows[case, label]) if (case, label) in rows else "-" for case in cases] for label in labels}
    if all(len(set(texts) - {"-"}) <= 1 for texts in cells.values()):
        cases = ["in all cases"]
        cells = {label: [next((text for text in texts if text != "-"), "-")] for label, texts in cells.items()}
    yield f"| {corner} | " + " | ".join(cases) + " |"
    yield "| --- |" + " --- |" * len(cases)
    for label, texts in cells.items():
        yield f"| {label} | " + " | ".join(texts) + " |"
    yield ""


def entry(row, name):
    return next((one for one in row["baselines"] if one["name"] == name), None)


def speedup(name, key):
    """How many times as fast, with its 95 % interval where seeds leave some doubt."""
    def cell(row):
        one = entry(row, name)
        if one is None or one[key] is None:
            return "-"
        interval = one[f"{key}_interval"]
        if interval is None or interval["high"] - interval["low"] < 0.01:
            return f"{one[key]:.2f}"
        return f"{one[key]:.2f} ({interval['low']:.2f} to {interval['high']:.2f})"
    return cell


def points(name):
    def cell(row):
        one = entry(row, name)
        if one is None or one["points"] is None:
            return "-"
        interval = one["points_interval"]
        doubt = f" ({interval['low']:+.2f} to {interval['high']:+.2f})" if interval else ""
        return f"{one['points']:+.2f}{doubt}"
    return cell


def percent(key):
    def cell(row):
        spread = row[key]
        if spread is None:
            return "-"
        return f"{100 * spread['mean']:.2f}" + (f" ± {100 * spread['spread']:.2f}" if row["seeds"] > 1 else "")
    return cell


def rate(row):
    return row["workload"].get("lr", "-") if row["tuned"] else "-"


def mixing(results, labels):
    """What a schedule leaves of a disagreement, for the strategies that have one."""
    factors = {(run["case"], run["label"]): run["figures"].get("schedule.mixing_factor") for run in results["runs"]}
    scheduled = [label for label in labels if any(key[1] == label and factors[key] is not None for key in factors)]

    def cell(row):
        value = factors.get((row["case"], row["label"]))
        return "-" if value is None else f"{value:.3f}"
    if scheduled:
        yield from matrix(results, "of a disagreement, left after a period", scheduled, cell)


def tables(results):
    scenario = results["scenario"]
    yield f"**{scenario['title']}.** {scenario['text']}"
    yield ""
    if results["note"]:
        yield results["note"]
        yield ""
    if scenario["claim"]:
        yield f"Claimed: {scenario['claim']}."
        yield ""
    yield "Assumptions: " + "; ".join(scenario["assumptions"]) + "."
    yield ""
    labels = list(dict.fromkeys(row["label"] for row in results["table"]))
    yardsticks = {row["label"] for row in results["table"] if row["carries"]}
    contenders = [label for label in labels if label not in yardsticks]
    for number, name in enumerate(dict.fromkeys(one["name"] for row in results["table"] for one in row["baselines"])):
        shown = labels if number == 0 else contenders
        yield from matrix(results, f"a step, times as fast as *{name}*", shown, speedup(name, "speedup"))
        if scenario["target"] is not None:
            corner = f"to the target, times as fast as *{name}*"
            yield from matrix(results, corner, shown, speedup(name, "speedup_to_target"))
    yield from matrix(results, "consensus accuracy, %", labels, percent("accuracy_consensus"))
    first = next((one["name"] for row in results["table"] for one in row["baselines"]), None)
    if first is not None:
        yield from matrix(results, f"points of consensus accuracy over *{first}*", contenders, points(first))
    if any(row["accuracy_swa"] for row in results["table"]):
        yield from matrix(results, "accuracy of the running means' mean (SWA), %", labels, percent("accuracy_swa"))
    if any(row["tuned"] for row in results["table"]):
        yield from matrix(results, "best learning rate", labels, rate)
    yield from mixing(results, labels)
    for verdict in results["expectations"]:
        yield f"- {'holds' if verdict['holds'] else '**does not hold**'}: {verdict['text']}"
    seeds = sorted({row["seeds"] for row in results["table"]})
    counted = f"{seeds[-1]} seeds"
    if len(seeds) > 1:
        counted = f"{seeds[0]} to {counted} (± where there are several)"
    wall = results["wall"]
    yield ""
    yield (f"`huddle compare {scenario['name']}`, {counted}, {wall['machine']}, {datetime.date.today()}; the runs "
           f"took {sum(wall['by_run'].values()) / 60:.1f} minutes in all, as many at once as there are cores.")


def replaced(document, name, lines):
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = document.partition(begin)
    if not found:
        raise SystemExit(f"docs/results.md has no place for {name}: add the lines {begin.strip()} and {end.strip()}")
    return before + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


def main():
    parser = argparse.ArgumentParser(description="Runs the papers' headlines and collects them in docs/results.md.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS + STUDIES)}")
    parser.add_argument("--program", default=ROOT / "build" / "huddle")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "out" / "compare", help="folder of comparisons")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS + STUDIES)
    if unknown:
        parser.error(f"no headline is called {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS + STUDIES)}")
    fetched = subprocess.run([sys.executable, ROOT / "tools" / "fetch_data.py", "fashion_mnist"], check=False)
    if fetched.returncode != 0:
        return fetched.returncode
    document, status = ROOT / "docs" / "results.md", 0
    for name in options.scenarios or SCENARIOS:
        folder = options.results / name
        print(f"[huddle] {name} ...", flush=True)
        run = subprocess.run([options.program, "compare", name, "--out", folder], cwd=ROOT, check=False)
        if run.returncode not in (0, 1):
            return run.returncode
        status = status or run.returncode
        results = json.loads((folder / "results.json").read_text())
        document.write_text(replaced(document.read_text(), name, tables(results)))
    return status


if __name__ == "__main__":
    sys.exit(main())
