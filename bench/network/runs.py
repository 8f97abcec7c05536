"""One pattern of exchange at one oversubscription: predicted by the simulator and measured over a real network.

Both read the same cluster file and are judged in the same way, by their steps.jsonl.
"""

import contextlib
import ctypes
import itertools
import json
import math
import os
import pathlib
import secrets
import signal
import statistics
import subprocess
import time
from dataclasses import dataclass

from namespaces import DEVICE, NIC_MBIT, RACKS, WORKERS, WORKERS_PER_RACK, Impossible

EFFICIENCY = 1448 / 1514  # What headers of Ethernet, IP and TCP leave of a frame.
PORT = 29400
LIBC = ctypes.CDLL(None)

# All that leaves a worker goes over its connection, as between machines; UCX would find shared memory otherwise.
ENVIRONMENT = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": DEVICE, "OMP_NUM_THREADS": "1"}


class Failure(Exception):
    """A run did not do what it was started for."""


@dataclass(frozen=True)
class Pattern:
    name: str
    strategy: str
    period: int = 1  # Steps after which its groups are the same again.
    compute: str = "0s"


@dataclass(frozen=True)
class Figures:
    step_ms: float
    uplink_mb: float  # A step, one way.


@dataclass
class Case:
    pattern: Pattern
    ratio: float  # How many times as narrow as its rack an uplink is.
    predicted: Figures
    measured: Figures | None = None  # By the try that came nearest.
    tries: int = 0
    busy: float = 0  # The share of the processors that was at work then, for whomever.

    def name(self):
        return f"{self.pattern.name} at {self.ratio:g}:1"

    def share(self):
        """Of the predicted time."""
        return self.measured.step_ms / self.predicted.step_ms if self.measured else math.inf

    def off(self):
        return abs(self.share() - 1)


def uplink_mbit(ratio):
    return NIC_MBIT * WORKERS_PER_RACK / ratio


def command_of(program, pattern, ratio, steps, folder):
    """The command of a run on whatever engine, and the folder where that writes."""
    out = folder / secrets.token_hex(4)
    cluster = out.with_suffix(".toml")
    cluster.write_text(f"""name = "network lab, {ratio:g}:1"
[racks]
count = {RACKS}
workers = {WORKERS_PER_RACK}
[network]
nic = "{NIC_MBIT * EFFICIENCY:.3f}Mbps"
uplink = "{uplink_mbit(ratio) * EFFICIENCY:.3f}Mbps"
[compute]
step = "{pattern.compute}"
[model]
wire = "4MiB"
""")
    return [str(program), "train", "--timing-only", "--cluster", str(cluster), "--strategy", pattern.strategy,
            "--steps", str(steps), "--out", str(out), "--quiet"], out


def median_step_ms(out, period):
    """A step ends when its slowest worker has done it. Over whole periods, because their steps differ; the first of
    them, in which connections are made, does not count."""
    ends = {}
    for line in map(json.loads, (out / "steps.jsonl").read_text().splitlines()):
        ends[line["step"]] = max(ends.get(line["step"], 0), line["end"])
    bounds = [ends[step] for step in range(period - 1, len(ends), period)]
    return 1000 * statistics.median(end - begin for begin, end in itertools.pairwise(bounds)) / period


def failure_of(who, said):
    """What a failed process says in the end, or in the beginning where it could not speak for itself any more."""
    lines = said.strip().splitlines() or ["no word"]
    last = next((line for line in reversed(lines) if line.startswith("huddle")), lines[0])
    kind = Impossible if "this build has no engine" in last else Failure
    return kind(f"{who}: {last}")


def predict(program, pattern, ratio, folder):
    steps = 4 * pattern.period
    command, out = command_of(program, pattern, ratio, steps, folder)
    answer = subprocess.run([*command, "--engine", "sim"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise failure_of(f"the simulation of {pattern.strategy}", answer.stderr)
    links = json.loads((out / "summary.json").read_text())["links"]
    crossed = next(link["bytes"] for link in links if link["name"] == "rack 0 out")
    return Figures(median_step_ms(out, pattern.period), crossed / steps / 1e6)


def die_with_the_lab():
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: when the parent ends, however it does.


@contextlib.contextmanager
def workers(network, command, logs):
    """Their processes, each on its machine. All have ended when this has."""
    environment = {**os.environ, **ENVIRONMENT, "HUDDLE_TOKEN": secrets.token_hex(16)}
    place = ["--engine", "ucx", "--workers", str(WORKERS), "--store", f"{network.address(0)}:{PORT}"]
    running = []
    try:
        for worker in range(WORKERS):
            with open(logs / f"{worker}.log", "w", encoding="utf-8") as log:
                running.append(subprocess.Popen([*network.on(worker), *command, *place, "--rank", str(worker)],
                                                env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                start_new_session=True, preexec_fn=die_with_the_lab))
        yield running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def see_to_the_end(running, logs, until):
    """Raises Failure at the first that fails, or when time is up."""
    left = dict(enumerate(running))
    while left:
        time.sleep(0.05)
        for worker, process in list(left.items()):
            if process.poll() is None:
                continue
            if process.returncode != 0:
                raise failure_of(f"worker {worker} ended with status {process.returncode}",
                                 (logs / f"{worker}.log").read_text())
            del left[worker]
        if left and time.monotonic() > until:
            raise Failure("the workers did not end in time")


def processor_ticks():
    """Of all processors since the machine was started: those at work, and all."""
    ticks = [int(each) for each in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def steps_for(case, seconds):
    period_s = case.predicted.step_ms * case.pattern.period / 1000
    return case.pattern.period * max(6, 1 + math.ceil(seconds / period_s))


def measure(program, network, case, steps, until, folder):
    """One try, which counts if none before came nearer to the prediction."""
    command, out = command_of(program, case.pattern, case.ratio, steps, folder)
    network.set_uplink(uplink_mbit(case.ratio))
    crossed, ticks = network.uplink_bytes(), processor_ticks()
    with workers(network, command, folder) as running:
        see_to_the_end(running, folder, until)
    worked, passed = (after - before for after, before in zip(processor_ticks(), ticks))
    crossed = max(after - before for after, before in zip(network.uplink_bytes(), crossed))
    tried = Figures(median_step_ms(out, case.pattern.period), crossed / steps / 1e6)
    case.tries += 1
    if Case(case.pattern, case.ratio, case.predicted, tried).off() < case.off():
        case.measured, case.busy = tried, worked / max(passed, 1)
    return tried
