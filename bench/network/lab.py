"""Steps over a real network, beside what the simulator predicts of them from the same cluster file.

    python3 bench/network/lab.py                    all patterns at 1:1, 2:1 and 4:1, within 8 minutes; needs root
    python3 bench/network/lab.py --tiny             one ratio, two patterns, 20 s: what the tests run
    python3 bench/network/lab.py --only pairs grid --ratios 4 --json out/network.json

Makes two racks of four machines out of network namespaces, runs Huddle's workers in them as processes over UCX and TCP,
and prints for each pattern of exchange, and each oversubscription of the uplinks, the time of a step and the bytes on
an uplink, predicted and measured. Nothing is computed (hidden pairs sleep instead): two processors cannot compute like
eight machines.

Exit status 1 where a time or the bytes are further from the prediction than --tolerance, or two patterns come out in
another order than predicted; 77, with the reason, where there can be no such network. What else this machine does
disturbs: a case that is off is measured again, and its nearest time counts.
"""

import argparse
import dataclasses
import datetime
import itertools
import json
import os
import pathlib
import platform
import signal
import sys
import tempfile
import time

import namespaces
from runs import Case, Failure, Pattern, measure, predict, steps_for

SKIPPED = 77
PATTERNS = {each.name: each for each in (
    Pattern("ring", "bsp:algorithm=ring,buckets=1,overlap=none"),
    Pattern("halving-doubling", "bsp:algorithm=halving_doubling,buckets=1,overlap=none"),
    Pattern("sharded", "bsp:algorithm=sharded,buckets=1,overlap=none"),
    Pattern("rotating", "ds_sync:schedule=rotating,form=paper", period=4),
    Pattern("grid", "ds_sync:schedule=grid,form=paper", period=2),
    Pattern("pairs", "sesgd:form=paper", period=3),
    Pattern("hidden-pairs", "sesgd:form=paper,hide=step", period=3, compute="200ms"),
    Pattern("local", "local_sgd:inner=rack,tau=4", period=4),
)}


def say(text):
    print(f"[lab] {text}", file=sys.stderr, flush=True)


def measure_all(options, network, cases, until, folder):
    """All once, then those again that are off, while there is time. Returns what went wrong."""
    problems = []
    for _ in range(options.tries):
        for case in cases:
            steps = steps_for(case, options.seconds)
            predicted_s = steps * case.predicted.step_ms / 1000
            if time.monotonic() + 8 + 1.5 * predicted_s > until:  # Starting takes some seconds, too.
                if case.tries == 0:
                    problems.append(f"{case.name()} was left out: the time was up")
                continue
            say(f"{case.name()}: {steps} steps, {predicted_s:.1f} s as predicted ...")
            try:
                tried = measure(options.program, network, case, steps,
                                min(until, time.monotonic() + 30 + 4 * predicted_s), folder)
                say(f"{case.name()}: {tried.step_ms:.0f} ms a step, predicted were {case.predicted.step_ms:.0f}")
            except Failure as failure:
                problems.append(f"{case.name()}: {failure}")
        cases = [case for case in cases if case.measured and case.off() > options.tolerance]
    return problems


def differences(cases, tolerance, judges_times):
    """Where reality and prediction part, in words."""
    found = []
    for case in cases:
        crossed = case.measured.uplink_mb / case.predicted.uplink_mb
        if abs(crossed - 1) > tolerance:
            found.append(f"{case.name()}: {crossed:.3f} of the predicted bytes pass an uplink")
        if judges_times and case.off() > tolerance:
            found.append(f"{case.name()}: {case.share():.3f} of the predicted time")
    for one, other in itertools.permutations(cases, 2) if judges_times else ():
        if (one.ratio == other.ratio and one.predicted.step_ms * (1 + tolerance) < other.predicted.step_ms
                and one.measured.step_ms >= other.measured.step_ms):
            found.append(f"{one.name()} should be faster than {other.pattern.name}, and is not")
    return found


def print_table(cases):
    print("| uplink | pattern | predicted ms | measured ms | measured/predicted | uplink MB a step, predicted "
          "| measured | tries | processors busy |")
    print("| --- " * 9 + "|")
    for case in cases:
        print(f"| {case.ratio:g}:1 | {case.pattern.name} | {case.predicted.step_ms:.0f} | {case.measured.step_ms:.0f} "
              f"| {case.share():.3f} | {case.predicted.uplink_mb:.2f} | {case.measured.uplink_mb:.2f} | {case.tries} "
              f"| {100 * case.busy:.0f} % |")


def write_json(place, cases, problems, machine):
    study = {"study": "network", "machine": machine, "date": datetime.date.today().isoformat(),
             "command": "python3 bench/network/lab.py", "figures": [dataclasses.asdict(case) for case in cases],
             "problems": problems}
    place.write_text(json.dumps(study, indent=1) + "\n")


def parse():
    summary, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(description=summary, epilog=more,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default="build/huddle", metavar="FILE", help="build/huddle")
    parser.add_argument("--only", nargs="+", choices=PATTERNS, metavar="PATTERN", help=f"of {', '.join(PATTERNS)}")
    parser.add_argument("--ratios", nargs="+", type=float, metavar="N",
                        help="how many times as narrow as their racks uplinks are (1 2 4)")
    parser.add_argument("--tolerance", type=float, default=0.07, help="how far off a figure may be (0.07)")
    parser.add_argument("--seconds", type=float, default=4, help="that a case is measured for (4)")
    parser.add_argument("--tries", type=int, default=3, help="of a case that is off (3)")
    parser.add_argument("--limit", type=float, default=470,
                        help="seconds for everything; it tells what was left out (470)")
    parser.add_argument("--tiny", action="store_true",
                        help="seconds; judges bytes and no times, because tests run beside one another")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="where the figures go as well")
    parser.add_argument("--machine", default=platform.node(), help="what the figures say they were measured on")
    options = parser.parse_args()
    if options.tiny:
        options.only, options.ratios = options.only or ["ring", "pairs"], options.ratios or [2]
        options.seconds, options.tries, options.limit = 1, 1, 60
    options.only, options.ratios = options.only or list(PATTERNS), options.ratios or [1, 2, 4]
    options.program = options.program.resolve()
    if not options.program.is_file():
        parser.error(f"there is no {options.program}; build it, or name another one with --program")
    return options


def run(options):
    until = time.monotonic() + options.limit
    with namespaces.Network() as network, tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        say("predicting ...")
        cases = [Case(PATTERNS[name], ratio, predict(options.program, PATTERNS[name], ratio, folder))
                 for ratio in options.ratios for name in options.only]
        problems = measure_all(options, network, cases, until, folder)
    cases = [case for case in cases if case.measured]
    problems += differences(cases, options.tolerance, judges_times=not options.tiny)
    print_table(cases)
    if options.json:
        write_json(options.json, cases, problems, options.machine)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def end_early(number, _):
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # Nothing disturbs the cleaning up.
    raise SystemExit(128 + number)


def main():
    options = parse()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, end_early)
    try:
        return run(options)
    except namespaces.Impossible as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Failure as failure:
        print(failure)
        return 1
    finally:
        if os.geteuid() == 0:
            namespaces.remove(os.getpid())  # Nothing is left, unless a signal came while the network was removed.


if __name__ == "__main__":
    sys.exit(main())
