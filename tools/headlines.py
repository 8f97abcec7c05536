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
STUDIES = ["accuracy"]  # Not a claim of any paper: only where it is named.


def table(heads, rows):
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " --- |" * (len(heads) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def entry(row, name):
    return next((one for one in row["baselines"] if one["name"] == name), None)


def interval(value, form):
    """The 95 % interval, where seeds leave any doubt that two digits show."""
    if value is None or value["high"] - value["low"] < 0.01:
        return ""
    return f" ({value['low']:{form}} to {value['high']:{form}})"


def times(row, names, key):
    """How many times as fast as each of the baselines; the interval is that over the last."""
    if row["status"] != "complete":
        return "failed with some seeds"
    values = [entry(row, name) for name in names]
    cells = ["-" if one is None or one[key] is None else f"{one[key]:.2f}" for one in values]
    if all(cell == "-" for cell in cells):
        return "-"
    return " / ".join(cells) + interval(values[-1] and values[-1][f"{key}_interval"], ".2f")


def points(row, name):
    one = entry(row, name)
    if one is None or one["points"] is None or row["status"] != "complete":
        return "-"
    return f"{one['points']:+.2f}" + interval(one["points_interval"], "+.2f")


def percent(row, key):
    spread = row[key]
    if spread is None:
        return "-"
    return f"{100 * spread['mean']:.2f}" + (f" ± {100 * spread['spread']:.2f}" if row["seeds"] > 1 else "")


def to_target(row, names):
    if row["status"] == "complete" and row["time_to_target"] is None and row["accuracy_consensus"] is not None:
        return f"not reached ({row['reached']} of {row['seeds']} seeds)"
    return times(row, names, "speedup_to_target")


def trained_case(results, case, names, judge):
    """All about one case in which models were trained."""
    rows = [row for row in results["table"] if row["case"] == case["name"]]
    has_swa = any(row["accuracy_swa"] for row in rows)
    heads = ["strategy", "rate", "step", *(["to target"] if case["target"] else []), "points", "consensus %",
             *(["SWA %"] if has_swa else []), "sent"]
    yield f"**{case['name']}**" + (f": {case['text']}." if case["text"] else ".")
    if case["target"] and case["consensus"]:
        yield (f"Target {100 * case['target']['accuracy']:.2f} % on the mean of the seeds; "
               f"an average of everybody takes {case['consensus']['seconds']:.3g} s.")
    yield ""
    yield from table(heads, ([
        row["label"], row["workload"].get("lr", "-") if row["tuned"] else "-", times(row, names, "speedup"),
        *([to_target(row, names)] if case["target"] else []), points(row, judge), percent(row, "accuracy_consensus"),
        *([percent(row, "accuracy_swa")] if has_swa else []),
        "-" if row["bytes_sent_per_worker"] is None else f"{row['bytes_sent_per_worker'] / 1e9:.3g} GB"]
        for row in rows))


def timed_cases(results, cases, name):
    """Steps where nothing was trained, strategies against cases."""
    rows = {(row["case"], row["label"]): row for row in results["table"]}
    labels = dict.fromkeys(label for case, label in rows if any(case == one["name"] for one in cases))
    if not cases:
        return
    yield from table([f"a step, times as fast as *{name}*", *(case["name"] for case in cases)],
                     ([label, *(times(rows[case["name"], label], [name], "speedup")
                                if (case["name"], label) in rows else "-" for case in cases)] for label in labels))


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
    names = list(dict.fromkeys(one["name"] for row in results["table"] for one in row["baselines"]))
    judge = (scenario["target"] or {}).get("baseline", names[0])
    yield (f"Step and to target: times as fast as *{' / '.join(names)}*, in brackets the 95 % interval over the last. "
           f"Points: consensus accuracy less that of *{judge}*, paired by seed.")
    yield ""
    trained = {row["case"] for row in results["table"] if row["accuracy_consensus"]}
    for case in results["cases"]:
        if case["name"] in trained:
            yield from trained_case(results, case, names, judge)
    timed = [case for case in results["cases"] if case["name"] not in trained]
    for first in range(0, len(timed), 6):
        yield from timed_cases(results, timed[first:first + 6], judge)
    for verdict in results["expectations"]:
        yield f"- {'holds' if verdict['holds'] else '**does not hold**'}: {verdict['text']}"
    seeds = sorted({row["seeds"] for row in results["table"]})
    counted = f"{seeds[-1]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    wall = results["wall"]
    yield ""
    yield (f"`huddle compare {scenario['name']}`, {counted}, {wall['machine']}, {datetime.date.today()}; the runs "
           f"took {sum(wall['by_run'].values()) / 60:.1f} minutes in all, as many at once as there are cores.")


def place_of(document, name):
    """What stands before and after a scenario's part, with its marks. Ends the program where one is missing."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = document.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"docs/results.md has no place for {name}: add the lines {begin.strip()} and {end.strip()}")
    return before + begin, end + after


def replaced(document, name, lines):
    before, after = place_of(document, name)
    return before + "\n".join(lines) + "\n" + after


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
    chosen = options.scenarios or SCENARIOS
    for name in chosen:
        place_of(document.read_text(), name)
    for name in chosen:
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
