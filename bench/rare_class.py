"""What becomes of a class that only a slow worker holds, and what weights and balanced rates do about it.

    python3 bench/rare_class.py               Fashion-MNIST, mlp, 8 workers in simulation, 3 seeds: 10 minutes
    python3 bench/rare_class.py --tiny        digits, 1 seed, seconds: what the tests run
    python3 bench/rare_class.py --slow 10 --strategies p_reduce:group=4,weights=constant,balance=on ad_psgd
    python3 bench/rare_class.py --json docs/results/rare_class.json --machine "16 cores, Xeon"   and tools/charts.py

The last worker alone holds one class and is 1, 3 or 10 times as slow as the others. Prints for each strategy: the share
of all steps that it took, what its learning rate was scaled by, the accuracy of the consensus model on its class, on
all others, and on all; --json also tells how stale models were when they were averaged. What comes out is a finding,
not a bar; exit status 1 when a run fails.
"""

import argparse
import concurrent.futures
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

WORKERS = 8
RARE = 3
STRATEGIES = ["bsp",
              "p_reduce:group=2,weights=dynamic", "p_reduce:group=2,weights=constant",
              "p_reduce:group=2,weights=constant,balance=on",
              "p_reduce:group=4,weights=dynamic", "p_reduce:group=4,weights=dynamic,balance=on",
              "p_reduce:group=4,weights=constant", "p_reduce:group=4,weights=constant,balance=on",
              "p_reduce:group=4,weights=constant,hide=step", "p_reduce:group=4,weights=constant,hide=step,balance=on",
              "ad_psgd", "ad_psgd:balance=on", "asp", "asp:balance=on"]


def train(program, options, strategy, slow, seed):
    """The figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--engine", "sim", "--workers", str(WORKERS), "--compute", "100ms",
                   "--slow", f"{WORKERS - 1}:{slow}", "--split", f"rare:{RARE}", "--strategy", strategy,
                   "--seed", str(seed), "--out", folder, "--quiet", *options]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{answer.stderr}")
        run = json.loads((pathlib.Path(folder) / "summary.json").read_text())
    classes = run["accuracy_by_class"]
    others = [accuracy for label, accuracy in enumerate(classes) if label != RARE]
    return {"share": run["share_by_worker"][-1], "factor": run["rate_factor_by_worker"][-1],
            "staleness": run["figures"].get("p_reduce.staleness"),
            "rare": 100 * classes[RARE], "others": 100 * statistics.fmean(others),
            "all": 100 * run["accuracy"]["consensus"], "seconds": run["seconds"]}


def cell(runs, key, digits=2):
    values = [run[key] for run in runs]
    if None in values:
        return "-"
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"


def pair(runs, key, digits=2):
    """Mean and standard deviation."""
    values = [run[key] for run in runs]
    if None in values:
        return [None, None]
    spread = statistics.stdev(values) if len(values) > 1 else 0
    return [round(statistics.fmean(values), digits), round(spread, digits)]


def chart(figures, strategies, slowness, seeds):
    """As tools/charts.py draws it."""
    by_place = {(figure["slow"], figure["strategy"]): figure for figure in figures}

    def series(slow, key):
        values = [by_place[f"{slow}x", strategy][key] for strategy in strategies]
        return {"name": "equal" if slow == 1 else f"{slow}x slow", "values": [mean for mean, _ in values],
                "low": [round(mean - spread, 2) for mean, spread in values],
                "high": [round(mean + spread, 2) for mean, spread in values]}

    return {"title": f"A class that only worker {WORKERS - 1} of {WORKERS} holds, which is slow (± standard deviation, "
                     f"{seeds} seeds)",
            "rows": strategies, "strong": [each for each in strategies if "balance=on" in each],
            "panels": [{"title": "accuracy on its class, %",
                        "series": [series(slow, "its_class") for slow in slowness]},
                       {"title": "on the other classes, %", "share": 0.6,
                        "series": [series(slow, "others") for slow in slowness]}]}


def main():
    parser = argparse.ArgumentParser(description="A class that only a slow worker holds.")
    parser.add_argument("--program", default="build/huddle")
    parser.add_argument("--tiny", action="store_true", help="digits, few steps: a test of this script")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="runs at once")
    parser.add_argument("--slow", type=int, nargs="+", help="how many times as slow (1 3 10)")
    parser.add_argument("--strategies", nargs="+", help="only these")
    parser.add_argument("--json", type=pathlib.Path, help="the study, for docs/results/rare_class.json")
    parser.add_argument("--machine", default="", help="what the study says it was measured on")
    options = parser.parse_args()
    data, steps, seeds, slowness = (("digits", 40, 1, [3]) if options.tiny
                                    else ("fashion_mnist", 600, options.seeds, [1, 3, 10]))
    slowness = options.slow or slowness
    strategies = options.strategies or STRATEGIES
    training = ["--data", data, "--model", "mlp", "--batch", "16" if options.tiny else "32", "--steps", str(steps),
                "--lr", "0.05", "--momentum", "0.9", "--schedule", "cosine:warmup=10"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = {(slow, strategy): [pool.submit(train, options.program, training, strategy, slow, seed)
                                      for seed in range(1, seeds + 1)]
                   for slow in slowness for strategy in strategies}
        print(f"{' '.join(training)}; class {RARE} on worker {WORKERS - 1} alone; {seeds} seeds\n")
        print("| slow | strategy | its share of steps | its rate times | its class % | other classes % "
              "| all % | seconds |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        figures = []
        for (slow, strategy), results in pending.items():
            runs = [result.result() for result in results]
            figures.append({"slow": f"{slow}x", "strategy": strategy, "share": pair(runs, "share", 3),
                            "factor": pair(runs, "factor"), "staleness": pair(runs, "staleness"),
                            "its_class": pair(runs, "rare"), "others": pair(runs, "others"), "all": pair(runs, "all"),
                            "seconds": pair(runs, "seconds", 1)})
            print(f"| {slow}x | `{strategy}` | {cell(runs, 'share', 3)} | {cell(runs, 'factor')} | "
                  f"{cell(runs, 'rare')} | {cell(runs, 'others')} | {cell(runs, 'all')} | {cell(runs, 'seconds', 1)} |",
                  flush=True)
    if options.json:
        study = {"study": "rare_class", "machine": options.machine, "date": datetime.date.today().isoformat(),
                 "seeds": seeds, "command": "python3 bench/rare_class.py", "figures": figures,
                 "chart": chart(figures, strategies, slowness, seeds)}
        options.json.write_text(json.dumps(study, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
