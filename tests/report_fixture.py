"""Makes the folder of a comparison as `huddle compare` writes it, out of formulas: input for tests of the report.

Run: python3 tests/report_fixture.py DIR        a comparison of 3 cases x 5 strategies x 2 seeds
"""

import json
import math
import pathlib
import random
import sys

VERSION = "0.5.0"
LATENCIES = {"0.1 ms": 0.0001, "1 ms": 0.001, "5 ms": 0.005}
STRATEGIES = {
    "ring, 4 buckets": "bsp:algorithm=ring,buckets=4,overlap=none",
    "ring, tuned": "bsp:algorithm=ring",
    "halving-doubling": "bsp:algorithm=halving_doubling",
    "ds_sync": "ds_sync",
    "sesgd": "sesgd",
}
COMPUTE = 0.035
HOSTILE = '</script><script>window.hacked=1</script>"><img src=x onerror="window.hacked=2">'


def groups_of(strategy, workers, step):
    """Pairs that change, a grid of four, or everybody."""
    if strategy == "sesgd":
        distance = 1 << step % int(math.log2(workers))
        return [sorted((worker, worker ^ distance)) for worker in range(workers)]
    if strategy == "ds_sync":
        key = (lambda worker: worker // 4) if step % 2 == 0 else (lambda worker: worker % 4)
        return [[other for other in range(workers) if key(other) == key(worker)] for worker in range(workers)]
    return [list(range(workers))] * workers


def exchange_seconds(label, latency, workers):
    transfer = 0.082
    messages = {"ring, 4 buckets": 8 * (workers - 1), "ring, tuned": 2 * (workers - 1), "ds_sync": 6, "sesgd": 1}
    share = {"ring, 4 buckets": 1.875, "ring, tuned": 1.875, "halving-doubling": 1.875, "ds_sync": 1.5, "sesgd": 1}
    return share[label] * transfer + messages.get(label, 2 * math.log2(workers)) * latency


class Run:
    """One run: its times and values follow from the label, the latency and the seed."""

    def __init__(self, case, label, seed, workers, steps):
        self.case, self.label, self.seed, self.workers, self.steps = case, label, seed, workers, steps
        self.strategy = STRATEGIES[label]
        self.id = f"{case}/{label}/{seed}".replace(" ", "-").replace(",", "")
        self.random = random.Random(f"{case} {label} {seed}")
        self.exchange = exchange_seconds(label, LATENCIES[case], workers)
        self.hidden = 0.02 if label == "ring, tuned" else 0
        self.step_seconds = COMPUTE + 0.002 + self.exchange - self.hidden
        self.is_exact = self.strategy.startswith("bsp")

    def loss(self, step):
        return 0.08 + 2.2 * math.exp(-step / (0.16 * self.steps)) * (1 if self.is_exact else 1.04)

    def accuracy(self, step):
        return 0.975 - 0.87 * math.exp(-step / (0.1 * self.steps)) - (0 if self.is_exact else 0.002) + 0.001 * self.seed

    def drift(self, step):
        return 0 if self.is_exact else 0.011 * (1 - math.exp(-step / 20)) + 0.001 * math.sin(step)

    def split(self):
        return {"compute": COMPUTE, "wait": 0.002, "exchange": self.exchange - self.hidden, "hidden": self.hidden}

    def lines(self):
        for step in range(self.steps):
            groups = groups_of(self.strategy, self.workers, step)
            for worker in range(self.workers):
                line = {"worker": worker, "step": step, "end": (step + 1) * self.step_seconds,
                        "loss": self.loss(step) * self.random.lognormvariate(0, 0.15), "learning_rate": 0.1,
                        "time": self.split(), "bytes_sent": 102400000, "messages_sent": 1, "group": groups[worker]}
                yield json.dumps(line, separators=(",", ":")) + "\n"

    def curve(self):
        return [{"progress": step, "time": step * self.step_seconds, "loss": self.loss(step) * 1.1,
                 "accuracy": self.accuracy(step), "drift": self.drift(step)}
                for step in range(self.steps // 20, self.steps + 1, self.steps // 20)]

    def links(self):
        sent = self.steps * 102.4e6 * (1 if self.label == "sesgd" else 1.875)
        return [{"name": f"worker {worker} {way}", "bytes": sent, "busy": sent / 1.2e9,
                 "full": sent / 1.25e9 * (1 + 0.01 * worker), "bytes_per_second": 1.25e9}
                for worker in range(self.workers) for way in ("out", "in")]

    def summary(self):
        return {"strategy": self.strategy, "engine": "sim", "model": "mlp", "data": "digits", "split": "iid",
                "optimizer": "sgd", "status": "complete", "workers": self.workers, "batch": 32, "steps": self.steps,
                "steps_done": self.steps, "steps_taken": self.steps * self.workers,
                "steps_by_worker": [self.steps] * self.workers, "samples_per_second": 100.0, "seed": self.seed,
                "version": VERSION, "machine": "a test", "parameters": 26122, "cluster": "plain LAN",
                "network": "alpha_beta", **self.figures()}

    def figures(self):
        accuracy = self.accuracy(self.steps)
        return {"seconds": self.steps * self.step_seconds, "loss": self.loss(self.steps),
                "accuracy": {"consensus": accuracy, "worker_mean": accuracy - 0.004, "worker_min": accuracy - 0.01},
                "test_loss": {"consensus": 0.1, "worker_mean": 0.11}, "drift": self.drift(self.steps),
                "bytes_sent_per_worker": self.steps * 102.4e6,
                "time": [{"worker": worker} | {key: value * self.steps * (1 + 0.03 * math.sin(worker))
                                               for key, value in self.split().items()}
                         for worker in range(self.workers)],
                "links": self.links(), "curve": self.curve(), "figures": {}, "warnings": [], "lost": []}

    def result(self):
        return {"id": self.id, "case": self.case, "label": self.label, "strategy": self.strategy, "seed": self.seed,
                "status": "complete", "trained_in": None, "timed_in": None, "bytes_to_target": None,
                "command": f"huddle train --strategy {self.strategy}", "step_seconds": self.step_seconds,
                "time_to_target": 0.4 * self.steps * self.step_seconds,
                "steps_to_target": 0.4 * self.steps, "bottleneck": {"name": "worker 15 out", "load": 0.7},
                **self.figures()}

    def write(self, folder):
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text(json.dumps(self.summary()))
        with open(folder / "steps.jsonl", "w", encoding="utf-8") as file:
            file.writelines(self.lines())


def table_row(case, label, runs):
    mine = [run for run in runs if (run.case, run.label) == (case, label)]
    seconds = {other: next(run.step_seconds for run in runs if (run.case, run.label) == (case, other))
               for other in STRATEGIES}
    bases = {"paper": "ring, 4 buckets",
             "best": min((other for other in seconds if STRATEGIES[other].startswith("bsp")), key=seconds.get)}
    accuracy = sum(run.accuracy(run.steps) for run in mine) / len(mine)
    return {"case": case, "label": label, "strategy": STRATEGIES[label], "seeds": len(mine),
            "status": "complete", "workload": {}, "carries": [], "reached": len(mine), "bytes_to_target": None,
            "forms_at_target": False, "tuned": False,
            "baselines": [{"name": name, "label": base, "speedup": seconds[base] / seconds[label], "target_label": base,
                           "points": None,
                           "speedup_to_target": seconds[base] / seconds[label] * (0.95 if label == "sesgd" else 1)}
                          for name, base in bases.items()],
            "step_seconds": {"mean": seconds[label], "spread": 0},
            "time_to_target": {"mean": 0.4 * mine[0].steps * seconds[label], "spread": 0.01},
            "accuracy_consensus": {"mean": accuracy, "spread": 0.0005},
            "accuracy_worker_mean": {"mean": accuracy - 0.004, "spread": 0.0005},
            "drift": {"mean": mine[0].drift(mine[0].steps), "spread": 0.0001},
            "bytes_sent_per_worker": mine[0].steps * 102.4e6, "wait": 0.02, "exchange": 0.6, "hidden": 0.1,
            "bottleneck": "worker 15 out"}


def make_comparison(folder, workers=16, steps=200, seeds=(1, 2), cases=tuple(LATENCIES), hostile=""):
    """Returns the runs. `hostile` is added to every text that comes from a scenario."""
    folder = pathlib.Path(folder)
    runs = [Run(case, label, seed, workers, steps) for case in cases for label in STRATEGIES for seed in seeds]
    for run in runs:
        run.write(folder / "runs" / run.id)
    scenario = {
        "name": "sesgd_latency" + hostile, "title": "Pairs against rings when latency grows" + hostile,
        "text": "16 workers on 10 Gb/s train one model that counts for 102.4 MB." + hostile,
        "claim": "1.7 times as fast at 0.1 ms, up to 5 times at 5 ms." + hostile,
        "assumptions": ["The paper's ring sends 4 buckets, nothing overlaps." + hostile, "Compute takes 35 ms."],
        "target": {"accuracy": 0.95}, "source": 'name = "sesgd_latency"\n[workload]\ndata = "digits"\n' + hostile}
    results = {"format": 1, "version": VERSION, "scenario": scenario, "note": "", "tunings": [], "trainings": [],
               "cases": [{"name": case + hostile, "text": f"latency {case}" + hostile, "cluster": "cases/x.toml"}
                         for case in cases],
               "answer": {"headline": [f"{case}: sesgd, 2.00x." + hostile for case in cases],
                          "measure": "Factors: time to 95.0 % consensus accuracy, over paper." + hostile,
                          "cases": [{"case": case, "winner": "sesgd" + hostile, "result": "sesgd, 2.00x" + hostile,
                                     "why": "ring, 4 buckets spends 70 % of the time on the network." + hostile}
                                    for case in cases]},
               "runs": [run.result() for run in runs],
               "table": [table_row(case, label, runs) for case in cases for label in STRATEGIES],
               "expectations": [{"text": "sesgd over ring: 1.80x, at least 1.70x" + hostile, "holds": True}],
               "wall": {"machine": "a test" + hostile, "seconds": 93.0, "by_run": {}}}
    for item in results["answer"]["cases"]:
        item["case"] += hostile
    for item in results["runs"] + results["table"]:
        item["case"] += hostile
        item["label"] += hostile
        for baseline in item.get("baselines", []):
            baseline["label"] += hostile
            baseline["target_label"] += hostile
            baseline["name"] += hostile
        for link in item.get("links", []):
            link["name"] += hostile
        if hostile and "warnings" in item:
            item["warnings"] = [hostile]
    (folder / "results.json").write_text(json.dumps(results))
    return runs


if __name__ == "__main__":
    make_comparison(sys.argv[1])
