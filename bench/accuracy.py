"""Accuracy and drift of strategies against bsp: same data, same hyper-parameters, paired seeds.

    python3 bench/accuracy.py                 Fashion-MNIST, cnn, 16 workers, 5 seeds (about 40 minutes on 2 cores)
    python3 bench/accuracy.py --tiny          digits, 2 seeds, seconds: what the tests run

Prints a table with mean and spread over the seeds, the paired difference of consensus accuracy to bsp with its 95 %
interval, and bytes over those of bsp; --out FILE also writes every run as JSON. Exit status 1 when a run fails or, at
full size, when ds_sync or sesgd is more than 0.5 points below bsp in the mean, or an ablation does not drift.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import statistics
import subprocess
import sys

STRATEGIES = ["bsp:algorithm=ring", "ds_sync:radices=4x4", "sesgd", "ds_sync:schedule=fixed,radices=4x4",
              "sesgd:payload=gradient"]
MIXING = STRATEGIES[1:3]
ABLATIONS = STRATEGIES[3:]
# Two-sided 95 % points of Student's t by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def train(program, options, strategy, seed):
    command = [program, "train", "--strategy", strategy, "--seed", str(seed), "--json", "--quiet", *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{answer.stderr}")
    return json.loads(answer.stdout)


def interval(values):
    """Mean and half the width of its 95 % interval."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    return mean, STUDENT[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))


def spread(values, digits):
    return f"{statistics.fmean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def table(runs):
    print("| strategy | consensus % | to bsp, 95 % | worker mean % | worker min % | drift | bytes over bsp |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    baseline = runs[STRATEGIES[0]]
    for strategy, results in runs.items():
        accuracy = {key: spread([100 * run["accuracy"][key] for run in results], 2)
                    for key in ("consensus", "worker_mean", "worker_min")}
        mean, half = interval([100 * (run["accuracy"]["consensus"] - base["accuracy"]["consensus"])
                               for run, base in zip(results, baseline)])
        difference = "-" if strategy == STRATEGIES[0] else f"{mean:+.2f} ± {half:.2f}"
        traffic = results[0]["bytes_sent_per_worker"] / baseline[0]["bytes_sent_per_worker"]
        drift = statistics.fmean(run["drift"] for run in results)
        print(f"| `{strategy}` | {accuracy['consensus']} | {difference} | {accuracy['worker_mean']} | "
              f"{accuracy['worker_min']} | {drift:.4f} | {traffic:.3f} |")


def problems(runs):
    """What does not hold that must."""
    baseline = [run["accuracy"]["consensus"] for run in runs[STRATEGIES[0]]]
    limits = dict(zip(MIXING, (0.81, 0.55)))
    for strategy in MIXING:
        mean = 100 * statistics.fmean(run["accuracy"]["consensus"] - base
                                      for run, base in zip(runs[strategy], baseline))
        if mean < -0.5:
            yield f"{strategy} is {-mean:.2f} points below bsp"
        share = runs[strategy][0]["bytes_sent_per_worker"] / runs[STRATEGIES[0]][0]["bytes_sent_per_worker"]
        if share > limits[strategy]:
            yield f"{strategy} sends {share:.3f} of bsp's bytes, more than {limits[strategy]}"
    for strategy in ABLATIONS:
        if min(run["drift"] for run in runs[strategy]) < 5 * max(run["drift"] for run in runs[MIXING[1]]):
            yield f"{strategy} does not drift apart, but it must"


def main():
    parser = argparse.ArgumentParser(description="Accuracy of strategies against bsp, with paired seeds.")
    parser.add_argument("--program", default="build/huddle")
    parser.add_argument("--tiny", action="store_true", help="digits, few steps: a test of this script")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--lr", type=float, default=0.02, help="the best of 0.01, 0.02, 0.05, 0.1, 0.2 for bsp")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    parser.add_argument("--data", default="fashion_mnist")
    parser.add_argument("--out", type=pathlib.Path, help="write all runs there as JSON")
    options = parser.parse_args()
    data, steps, seeds = ("digits", 30, 2) if options.tiny else (options.data, options.steps, options.seeds)
    batch = 8 if options.tiny else 32
    training = ["--workers", "16", "--data", data, "--model", "cnn", "--batch", str(batch), "--steps", str(steps),
                "--lr", str(options.lr), "--momentum", "0.9", "--schedule", "cosine:warmup=10",
                "--drift-every", str(steps)]

    def one(seed, strategy):
        result = train(options.program, training, strategy, seed)
        print(f"seed {seed} {strategy}: {100 * result['accuracy']['consensus']:.2f} %, "
              f"drift {result['drift']:.4f}, {result['seconds']:.0f} s", file=sys.stderr, flush=True)
        return result

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = [(strategy, pool.submit(one, seed, strategy))
                   for seed in range(1, seeds + 1) for strategy in STRATEGIES]
        runs = {strategy: [] for strategy in STRATEGIES}
        for strategy, run in pending:
            runs[strategy].append(run.result())
    print(f"{runs[STRATEGIES[0]][0]['machine']}; {' '.join(training)}; {seeds} seeds\n")
    table(runs)
    if options.out:
        options.out.write_text(json.dumps(runs, indent=1))
    failures = [] if options.tiny else list(problems(runs))
    for failure in failures:
        print(f"MUST HOLD, DOES NOT: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
