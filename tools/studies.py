"""What a comparison came to, as its page in docs/results shows it: a small extract of results.json, tables and a chart.

`huddle compare` writes megabytes; the extract keeps what is told, so that tables and chart can be made again without a
run. Used by tools/headlines.py and tools/charts.py.
"""

import json
import math

# Which rows and cases a chart shows, and how the cases are called in it. The tables have all of them.
LATENCIES = {"latency 0.1ms": "0.1 ms", "latency 1ms": "1 ms", "latency 5ms": "5 ms"}
UPLINKS = {"4x4, 1:1": "1:1", "4x4, 4:1": "4:1", "4x4, 8:1": "8:1", "4x4, 4:1, a busy uplink": "busy uplink"}
SLOWNESS = {"8, equal": "equal", "8, one 3x": "one 3x", "8, pauses": "pauses", "8, a slow link": "slow link"}
CHARTS = {
    "accuracy": {
        "title": "Accuracy against synchronous SGD, and what it saves (16 workers, 95 % intervals)",
        "strong": ["ds_sync", "sesgd"],
        "rows": None,
        "panels": [("points", {"IID": "IID", "skewed": "skewed data"}, 2), ("sent", {"IID": ""}, 1)],
    },
    "defaults": {
        "title": "Defaults and their rivals in bfloat16, over latency (16 workers, 10 Gb/s, 102.4 MB)",
        "strong": ["SESGD, default, overlap", "DS-Sync, default"],
        "rows": ["bsp, 2 buckets, bf16", "bsp, 4 buckets, bf16", "local SGD, tau 2, bf16", "CoCoD, tau 1, bf16",
                 "AD-PSGD, bf16", "SESGD, default, overlap", "SESGD, published, overlap", "DS-Sync, default",
                 "DS-Sync, published"],
        "panels": [("step", LATENCIES, 1), ("to_target", LATENCIES, 1), ("points", {"latency 0.1ms": "IID"}, 1)],
    },
    "sesgd_latency": {
        "title": "SESGD and its rivals over latency (16 workers, 10 Gb/s, 102.4 MB)",
        "strong": ["SESGD", "SESGD, overlap", "SESGD, overlap, 800 steps"],
        "rows": ["ring", "halving-doubling, 2 buckets", "halving-doubling, 8 buckets", "SESGD", "SESGD, overlap",
                 "SESGD, overlap, 800 steps", "DS-Sync, grid", "local SGD, tau 4", "local SGD, tau 4, 800 steps",
                 "CoCoD, tau 1", "CoCoD, tau 2, 800 steps"],
        "panels": [("step", LATENCIES, 1), ("to_target", LATENCIES, 1),
                   ("points", {"latency 0.1ms": "IID", "skewed, 1ms": "skewed"}, 1)],
    },
    "ds_sync_bottleneck": {
        "title": "DS-Sync and its rivals behind narrow uplinks (4 racks of 4, 10 Gb/s, 100 MB)",
        "strong": ["DS-Sync, grid", "DS-Sync, rotating", "DS-Sync, every 4th", "DS-Sync, every 8th",
                   "DS-Sync, every 4th, 800 steps"],
        "rows": ["ring by racks", "shards, pipelined", "DS-Sync, grid", "DS-Sync, rotating", "DS-Sync, every 4th",
                 "DS-Sync, every 8th", "DS-Sync, every 4th, 800 steps", "local SGD, racks inside, tau 4",
                 "local SGD, tau 4", "local SGD, tau 4, 800 steps", "CoCoD, tau 1", "asp:buckets=1"],
        "panels": [("step", UPLINKS, 1.1), ("to_target", UPLINKS, 1.1),
                   ("points", {"4x4, 8:1": "IID", "4x4, 8:1, skewed": "skewed"}, 0.9)],
    },
    "overlap_hiding": {
        "title": "Hiding communication: the step it saves and the accuracy it costs (16 workers, 40 Gb/s, 44.7 MB)",
        "strong": ["Overlap, tau 1", "Overlap, tau 2", "Overlap, tau 4", "Overlap, tau 8", "Overlap, tau 2, 800 steps"],
        "rows": ["BSP, no overlap", "BSP, overlap", "Overlap, tau 1", "Overlap, tau 2", "Overlap, tau 4",
                 "Overlap, tau 8", "Overlap, tau 2, 800 steps", "CoCoD, tau 1", "CoCoD, tau 2", "CoCoD, tau 4",
                 "CoCoD, tau 2, 800 steps", "local SGD, tau 2", "local SGD, tau 4"],
        "panels": [("step", {"IID": "40 Gb/s", "random slow nodes": "slow nodes", "wireless": "wireless"}, 1),
                   ("points", {"IID": "IID", "skewed": "skewed data"}, 1)],
    },
    "p_reduce_heterogeneous": {
        "title": "P-Reduce and its rivals where some are slow (8 workers, 25 MB)",
        "strong": ["P-Reduce of 2", "P-Reduce of 3", "P-Reduce of 4", "P-Reduce of 4, constant weights"],
        "rows": ["all-reduce, 4 buckets", "P-Reduce of 2", "P-Reduce of 3", "P-Reduce of 4",
                 "P-Reduce of 4, constant weights", "random groups of 4", "local SGD, tau 2", "CoCoD, tau 1", "AD-PSGD",
                 "eager", "asp", "ssp"],
        "panels": [("step", SLOWNESS, 1.1), ("to_target", SLOWNESS, 1.1),
                   ("points", {"8, one 3x": "8, one 3x", "32, three 3x": "32"}, 0.9)],
    },
}


def rounded(value, digits=5):
    return value if value is None else float(f"{value:.{digits}g}")


def pair(value, keys):
    return None if value is None else [rounded(value[key]) for key in keys]


def row_of(row, judge):
    """What is told of one strategy in one case; times over the baseline by which the study judges."""
    over = {one["name"]: one for one in row["baselines"]}
    judged = over.get(judge, {})
    complete = row["status"] == "complete"
    told = {
        "case": row["case"], "label": row["label"], "strategy": row["strategy"], "seeds": row["seeds"],
        "complete": complete, "rate": row["workload"].get("lr") if row["tuned"] else None,
        "step_s": pair(row["step_seconds"], ("mean", "spread")),
        "step": rounded(judged.get("speedup")), "step_interval": pair(judged.get("speedup_interval"), ("low", "high")),
        "to_target": rounded(judged.get("speedup_to_target")) if complete else None,
        "to_target_interval": pair(judged.get("speedup_to_target_interval"), ("low", "high")),
        "reached": row["reached"], "points": rounded(judged.get("points")),
        "points_interval": pair(judged.get("points_interval"), ("low", "high")),
        "consensus": pair(row["accuracy_consensus"], ("mean", "spread")),
        "swa": pair(row["accuracy_swa"], ("mean", "spread")), "bytes_sent": rounded(row["bytes_sent_per_worker"]),
    }
    return {key: value for key, value in told.items() if value is not None}


def extract(results, date):
    """The small file of a study, from a comparison's results.json."""
    scenario, wall = results["scenario"], results["wall"]
    names = list(dict.fromkeys(one["name"] for row in results["table"] for one in row["baselines"]))
    judge = (scenario["target"] or {}).get("baseline", names[0])
    cases = []
    for case in results["cases"]:
        rows = [row for row in results["table"] if row["case"] == case["name"]]
        best = {one["name"]: one["label"] for row in rows for one in row["baselines"]}
        cases.append({"name": case["name"], "text": case["text"], "baselines": best,
                      "target": rounded((case["target"] or {}).get("accuracy")),
                      "average_s": rounded((case["consensus"] or {}).get("seconds"))})
    return {"study": scenario["name"], "title": scenario["title"], "text": scenario["text"],
            "claim": scenario["claim"], "assumptions": scenario["assumptions"], "rates": results["note"],
            "judge": judge, "cases": cases, "expectations": results["expectations"],
            "machine": wall["machine"], "date": str(date), "minutes": round(sum(wall["by_run"].values()) / 60, 1),
            "rows": [row_of(row, judge) for row in results["table"]]}


def written(study):
    """The text of the file: a line for each row, so that changes can be read."""
    head = json.dumps({key: value for key, value in study.items() if key != "rows"}, indent=1, ensure_ascii=False)
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in study["rows"])
    return f'{head[:-2]},\n "rows": [\n  {rows}\n ]\n}}\n'


def interval(value, form):
    """The 95 % interval, where seeds leave any doubt that two digits show."""
    return "" if value is None or value[1] - value[0] < 0.01 else f" ({value[0]:{form}} to {value[1]:{form}})"


def step_cell(row):
    if not row["complete"]:
        return "failed with some seeds"
    return None if row.get("step") is None else f"{row['step']:.2f}" + interval(row.get("step_interval"), ".2f")


def target_cell(row):
    if "consensus" not in row:
        return None
    if "to_target" not in row:
        return f"{row['reached']} of {row['seeds']}"
    return f"{row['to_target']:.2f}" + interval(row.get("to_target_interval"), ".2f")


def points_cell(row):
    return None if "points" not in row else f"{row['points']:+.2f}" + interval(row.get("points_interval"), "+.2f")


def percent_cell(key):
    def cell(row):
        if key not in row:
            return None
        return f"{100 * row[key][0]:.2f}" + (f" ± {100 * row[key][1]:.2f}" if row["seeds"] > 1 else "")
    return cell


def rate_cell(row):
    return row.get("rate")


def sent_cell(row):
    return f"{row['bytes_sent'] / 1e9:.3g} GB" if "bytes_sent" in row and "consensus" in row else None


def table(heads, rows):
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " --- |" * (len(heads) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def columns_of(study, cell):
    """Strategies against cases: the cases' names and what stands below them. Cases that say the same are one column."""
    labels = list(dict.fromkeys(row["label"] for row in study["rows"]))
    columns = {}
    for case in study["cases"]:
        found = {row["label"]: cell(row) for row in study["rows"] if row["case"] == case["name"]}
        column = tuple(found.get(label) for label in labels)
        if any(one is not None for one in column):
            columns.setdefault(column, []).append(case["name"])
    return labels, [("; ".join(names), column) for column, names in columns.items()]


def matrix(study, title, cell, most=7):
    """A table of at most eight columns, or several."""
    labels, columns = columns_of(study, cell)
    if not columns:
        return
    yield f"**{title}**"
    yield ""
    width = math.ceil(len(columns) / math.ceil(len(columns) / most))
    for first in range(0, len(columns), width):
        part = columns[first:first + width]
        yield from table(["strategy", *(name for name, _ in part)],
                         ([label, *(column[index] or "-" for _, column in part)] for index, label in enumerate(labels)
                          if any(column[index] for _, column in part)))


def cases_table(study):
    """What the baselines are in each case, in seconds, and what must be reached."""
    names = list(dict.fromkeys(name for case in study["cases"] for name in case["baselines"]))
    steps = {(row["case"], row["label"]): row["step_s"][0] for row in study["rows"] if "step_s" in row}

    def cells(case):
        yield case["name"] + (f": {case['text']}" if case["text"] else "")
        for name in names:
            label = case["baselines"].get(name)
            yield "-" if label is None else f"{label}, {1000 * steps[case['name'], label]:.4g} ms"
        yield "-" if case["target"] is None else f"{100 * case['target']:.2f}"
        yield "-" if case["average_s"] is None else f"{1000 * case['average_s']:.3g} ms"
    heads = ["case", *(f"*{name}*, a step" for name in names), "target %", "an average of everybody"]
    yield from table(heads, map(list, map(cells, study["cases"])))


def tables(study):
    """The lines between the marks of a study's page."""
    judge = study["judge"]
    yield f"**{study['title']}.** {study['text']}"
    yield ""
    if study["claim"]:
        yield f"Claimed: {study['claim']}."
        yield ""
    yield "Assumptions: " + "; ".join(study["assumptions"]) + "."
    yield ""
    if study["rates"]:
        yield study["rates"]
        yield ""
    seeds = sorted({row["seeds"] for row in study["rows"]})
    counted = f"{seeds[-1]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    yield (f"All tables: `huddle compare {study['study']}`, {counted}, {study['machine']}, {study['date']}; the runs "
           f"took {study['minutes']} minutes in all, as many at once as there are cores. In brackets 95 % intervals "
           "over the seeds, where there are several and they differ; behind ± standard deviations. Cases that came out "
           "alike share a column.")
    yield ""
    yield from cases_table(study)
    yield from matrix(study, f"A step: times as fast as *{judge}*", step_cell)
    if any(case["target"] for case in study["cases"]):
        yield from matrix(study, f"To the target: times as fast as *{judge}*, or how many of the seeds reached it",
                          target_cell)
    yield from matrix(study, f"Points: consensus accuracy less that of *{judge}*, paired by seed", points_cell)
    yield from matrix(study, "Consensus accuracy, %", percent_cell("consensus"))
    yield from matrix(study, "Accuracy of the running means (SWA), %", percent_cell("swa"))
    yield from matrix(study, "Learning rate", rate_cell)
    yield from matrix(study, "Sent by a worker", sent_cell)
    for verdict in study["expectations"]:
        yield f"- {'holds' if verdict['holds'] else '**does not hold**'}: {verdict['text']}"


PANELS = {
    "step": {"title": "a step, times as fast", "scale": "log", "reference": 1},
    "to_target": {"title": "to the target, times as fast", "scale": "log", "reference": 1},
    "points": {"title": "points of accuracy", "reference": 0},
    "sent": {"title": "sent by a worker, GB", "from_zero": True},
}


def chart(study):
    """The picture of a comparison, as a value that tools/charts.py draws."""
    wanted = CHARTS[study["study"]]
    rows = {(row["case"], row["label"]): row for row in study["rows"]}
    labels = wanted["rows"] or list(dict.fromkeys(row["label"] for row in study["rows"]))

    def series(key, case, name):
        found = [rows.get((case, label)) for label in labels]
        ranges = [row and row.get(f"{key}_interval") for row in found]
        values = [row and (row["bytes_sent"] / 1e9 if key == "sent" else row.get(key)) for row in found]
        return {"name": name, "values": values,
                **{end: [one and one[index] for one in ranges] for index, end in enumerate(("low", "high"))}}
    measured = {"step": {"unit": f"over {study['judge']}"}, "to_target": {"unit": "no dot: not with every seed"},
                "points": {"unit": f"less {study['judge']}"}}
    panels = [{**PANELS[key], **measured.get(key, {}), "share": share,
               "series": [series(key, case, name) for case, name in cases.items()]}
              for key, cases, share in wanted["panels"]]
    return {"title": wanted["title"], "rows": labels, "strong": wanted["strong"], "panels": panels}
