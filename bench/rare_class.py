"""What becomes of a class that only a slow worker holds, and what staleness-aware weights do about it.

    python3 bench/rare_class.py               Fashion-MNIST, mlp, 8 workers in simulation, 3 seeds (about 20 minutes)
    python3 bench/rare_class.py --tiny        digits, 1 seed, seconds: what the tests run

The last worker alone holds one class and is 1, 3 or 10 times as slow as the others. Prints for each strategy: the share
of all steps that it took, how stale models were when they were averaged, the accuracy of the consensus model on its
class, on all others, and on all. What comes out is a finding, not a bar; exit status 1 when a run fails.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

WORKERS = 8
RARE = 3
STRATEGIES = ["bsp", "p_reduce:group=2,weights=dynamic", "p_reduce:group=2,weights=constant",
              "p_reduce:group=4,weights=dynamic", "p_reduce:group=4,weights=constant", "ad_psgd", "asp"]


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
        with open(pathlib.Path(folder) / "steps.jsonl", encoding="utf-8") as steps:
            taken = collections.Counter(json.loads(line)["worker"] for line in steps)
    classes = run["accuracy_by_class"]
    others = [accuracy for label, accuracy in enumerate(classes) if label != RARE]
    return {"share": taken[WORKERS - 1] / sum(taken.values()),
            "staleness": run["figures"].get("p_reduce.staleness"),
            "rare": 100 * classes[RARE], "others": 100 * statistics.fmean(others),
            "all": 100 * run["accuracy"]["consensus"], "seconds": run["seconds"]}


def cell(runs, key, digits=2):
    values = [run[key] for run in runs]
    if None in values:
        return "-"
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description="A class that only a slow worker holds.")
    parser.add_argument("--program", default="build/huddle")
    parser.add_argument("--tiny", action="store_true", help="digits, few steps: a test of this script")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="runs at once")
    options = parser.parse_args()
    data, steps, seeds, slowness = (("digits", 40, 1, [3]) if options.tiny
                                    else ("fashion_mnist", 600, options.seeds, [1, 3, 10]))
    training = ["--data", data, "--model", "mlp", "--batch", "16" if options.tiny else "32", "--steps", str(steps),
                "--lr", "0.05", "--momentum", "0.9", "--schedule", "cosine:warmup=10"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = {(slow, strategy): [pool.submit(train, options.program, training, strategy, slow, seed)
                                      for seed in range(1, seeds + 1)]
                   for slow in slowness for strategy in STRATEGIES}
        print(f"{' '.join(training)}; class {RARE} on worker {WORKERS - 1} alone; {seeds} seeds\n")
        print("| slow | strategy | its share of steps | staleness | its class % | other classes % | all % | seconds |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for (slow, strategy), results in pending.items():
            runs = [result.result() for result in results]
            print(f"| {slow}x | `{strategy}` | {cell(runs, 'share', 3)} | {cell(runs, 'staleness')} | "
                  f"{cell(runs, 'rare')} | {cell(runs, 'others')} | {cell(runs, 'all')} | {cell(runs, 'seconds', 1)} |",
                  flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
