"""Workers as processes: the same bits as elsewhere, one run in many processes, and what happens when one of them dies,
stops, or means another run.

Run: python3 tests/process_test.py build/huddle
     HUDDLE_ALL=1: every strategy, and every moment at which a process is killed
"""

import glob
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import time
import unittest

import program
from program import TemporaryFolder, environment_for_mpi, huddle

ALL = "HUDDLE_ALL" in os.environ
# Their values do not depend on who is first.
DETERMINISTIC = [
    "bsp", "bsp:algorithm=halving_doubling,buckets=3", "bsp:algorithm=direct", "bsp:wire=bf16", "bsp:wire=int8",
    "ds_sync", "ds_sync:form=paper", "ds_sync:schedule=grid,overlap=backward,buckets=3", "ds_sync:hide=step",
    "ds_sync:every=3", "sesgd", "sesgd:form=paper", "sesgd:wire=int8", "sesgd:hide=step", "sesgd:slots=average",
    "random_groups", "local_sgd:tau=4", "overlap_local_sgd:tau=2", "cocod:tau=2", "diloco:tau=10", "slowmo:tau=10",
    "easgd:tau=4",
]
SAMPLE = ["bsp", "ds_sync", "sesgd:hide=step", "overlap_local_sgd:tau=2"]
SHORT = ("--steps", 20, "--batch", 8)
# What the summary says of values, not of times.
VALUES = ("loss", "drift", "test_loss", "accuracy", "consensus_accuracy", "bytes_sent_per_worker", "by_worker")


def has_mpi():
    engines = huddle("list", "engines").stdout
    return shutil.which("mpirun") is not None and "mpi" in engines and mpirun(1, "--steps", 1).returncode == 0


def launch(workers, *arguments, options=(), **how):
    return huddle("launch", "-n", workers, *options, "--", "train", "--engine", "ucx", *arguments, **how)


def mpirun(workers, *arguments):
    return subprocess.run(command_of("mpi", workers, *arguments), capture_output=True, text=True, timeout=300,
                          check=False, env=environment_for_mpi())


def command_of(engine, workers, *arguments):
    starter = (["mpirun", "-n", str(workers), program.PROGRAM] if engine == "mpi" else
               [program.PROGRAM, "launch", "-n", str(workers), "--"])
    return [*starter, "train", "--engine", engine, *map(str, arguments)]


def values_of(run):
    summary = json.loads(run.stdout)
    return {name: summary[name] for name in summary if name in VALUES or "accuracy" in name or "loss" in name}


class SameBits(TemporaryFolder):
    def test_of_threads_and_processes(self):
        with_mpi = has_mpi()
        for strategy in DETERMINISTIC if ALL else SAMPLE:
            with self.subTest(strategy=strategy):
                options = (*SHORT, "--strategy", strategy, "--json")
                expected = huddle("train", "--workers", 4, *options)
                self.assertEqual(expected.returncode, 0, expected.stderr)
                runs = {"ucx": launch(4, *options)}
                if with_mpi:
                    runs["mpi"] = mpirun(4, *options)
                for engine, run in runs.items():
                    self.assertEqual(run.returncode, 0, f"{engine}: {run.stderr}")
                    self.assertEqual(values_of(run), values_of(expected), engine)


class OneRun(TemporaryFolder):
    def test_worker_0_writes_down_what_all_did(self):
        run = launch(3, *SHORT, "--strategy", "ds_sync", "--out", self.folder / "out", "--timeline",
                     self.folder / "timeline.json", "--evaluate-every", 10)
        self.assertEqual(run.returncode, 0, run.stderr)
        steps = self.steps()
        self.assertEqual(sorted((each["worker"], each["step"]) for each in steps),
                         [(worker, step) for worker in range(3) for step in range(20)])
        summary = self.summary()
        self.assertEqual(summary["status"], "complete")
        self.assertEqual(summary["engine"], "ucx")
        self.assertEqual(run.stdout.count("strategy "), 1, "one closing table")
        timeline = json.loads((self.folder / "timeline.json").read_text())
        events = timeline["traceEvents"]
        tracks = {event["args"]["name"]: event["tid"] for event in events if event["name"] == "thread_name"}
        for worker in range(3):
            drawn = [event["name"] for event in events if event["tid"] == tracks[f"worker {worker}"]]
            self.assertEqual([name for name in drawn if name.startswith("step ")], [f"step {i}" for i in range(20)])

    def test_a_checkpoint_goes_on_on_another_engine(self):
        settings = ("--batch", 8, "--strategy", "ds_sync", "--seed", 3)
        whole = huddle("train", "--workers", 3, "--steps", 20, *settings, "--json", "--out", self.folder / "whole")
        first = launch(3, "--steps", 10, *settings, "--save", self.folder / "save")
        self.assertEqual(first.returncode, 0, first.stderr)
        second_half = {at: loss for at, loss in self.losses("whole").items() if at[1] >= 10}
        self.assertEqual(len(second_half), 30)
        resumed = {}
        for engine in ("threads", "ucx"):
            folder = self.folder / f"copy {engine}"
            shutil.copytree(self.folder / "save", folder)
            options = ("--resume", folder, "--steps", 20, "--json", "--out", self.folder / engine)
            second = launch(3, *options) if engine == "ucx" else huddle("train", *options)
            self.assertEqual(second.returncode, 0, second.stderr)
            resumed[engine] = values_of(second)
            self.assertEqual(self.losses(engine), second_half)
        self.assertEqual(resumed["ucx"], resumed["threads"])
        of_its_own_part = ("loss", "bytes_sent_per_worker")  # The record of a resumed run is of its steps alone.
        for name, value in values_of(whole).items():
            if name not in of_its_own_part:
                self.assertEqual(resumed["ucx"][name], value, name)

    def losses(self, name):
        return {(each["worker"], each["step"]): each["loss"] for each in self.steps(name)}

    def test_who_has_finished_waits_for_a_model_that_is_judged_longer_than_a_message_may_take(self):
        run = launch(2, "--strategy", "local_sgd:tau=2", "--model", "cnn:channels=400", "--steps", 2, "--batch", 2,
                     "--deadline", 0.5)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_an_interrupted_run_leaves_whole_files(self):
        job = begin(self, 3, "--strategy", "ds_sync", "--steps", 100000, "--out", self.folder / "out")
        self.await_steps(20)
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, errors)
        self.assertEqual(self.summary()["status"], "interrupted")
        self.assertGreater(len(self.steps()), 20)


def begin(test, workers, *arguments, engine="ucx"):
    """A job in the background."""
    job = subprocess.Popen(command_of(engine, workers, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, env=environment_for_mpi())
    test.addCleanup(job.stdout.close)
    test.addCleanup(job.stderr.close)
    test.addCleanup(job.wait)
    test.addCleanup(job.kill)
    return job


def environment_of(process):
    try:
        with open(f"/proc/{process}/environ", encoding="utf-8", errors="replace") as file:
            return dict(line.split("=", 1) for line in file.read().split("\0") if "=" in line)
    except OSError:
        return {}


def workers_of(job):
    """The processes that a job has started, by worker."""
    children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True, check=False).stdout.split()
    by_rank = {}
    for child in children:
        environment = environment_of(child)
        rank = environment.get("HUDDLE_RANK", environment.get("OMPI_COMM_WORLD_RANK"))
        if rank is not None:
            by_rank[int(rank)] = int(child)
    return by_rank


def fields_of(process):
    """Of /proc/PID/stat, from the state on; none: there is no such process."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()
    except OSError:
        return []


def alive(process):
    return fields_of(process)[:1] not in ([], ["Z"])


def computing_seconds(processes):
    """What they have taken of a core so far, all together."""
    return sum(sum(map(int, fields_of(process)[11:13])) for process in processes) / os.sysconf("SC_CLK_TCK")


class Leavings:
    """What may be left of a job on this machine, looked for once it has ended."""

    def __init__(self):
        self.before = self.in_shared_memory()

    def know(self, processes):
        self.processes = set(processes)
        self.token = environment_of(next(iter(processes)))["HUDDLE_TOKEN"]

    @staticmethod
    def in_shared_memory():
        return set(glob.glob("/dev/shm/*"))

    @staticmethod
    def held():
        """What living processes have in use, of this job or of another one on this machine."""
        paths = set()
        for maps in glob.glob("/proc/[0-9]*/maps"):
            try:
                with open(maps, encoding="utf-8") as file:
                    paths.update(re.findall(r"/dev/shm/\S+", file.read()))
            except OSError:
                continue
        return paths

    def segments(self):
        with open("/proc/sysvipc/shm", encoding="utf-8") as file:
            return [line.split()[1] for line in file.readlines()[1:] if int(line.split()[4]) in self.processes]

    def found(self):
        processes = [path for path in glob.glob("/proc/[0-9]*")
                     if environment_of(os.path.basename(path)).get("HUDDLE_TOKEN") == self.token]
        files = self.in_shared_memory() - self.before - self.held()
        # What another job has just made and not yet opened is gone, or held, a moment later.
        deadline = time.monotonic() + 5
        while files and time.monotonic() < deadline:
            time.sleep(0.1)
            files &= self.in_shared_memory() - self.held()
        return processes + sorted(files) + self.segments()


class StepClock:
    """Reads steps.jsonl as it grows, and knows when steps began and ended by the clock of this process."""

    def __init__(self, path):
        self.file = open(path, encoding="utf-8")
        self.rest = ""
        self.start = float("inf")  # Of the run's time: no step is told before it has ended.
        self.steps = []

    def read(self):
        text = self.rest + self.file.read()
        now = time.monotonic()
        *lines, self.rest = text.split("\n")
        for step in map(json.loads, lines):
            self.start = min(self.start, now - step["end"])
            self.steps.append(step)

    def first_end_after(self, worker, moment):
        """When that worker ended the first step that it began after that moment; none: it has not."""
        for step in self.steps:
            lasted = sum(step["time"][part] for part in ("compute", "wait", "exchange"))
            if step["worker"] == worker and self.start + step["end"] - lasted > moment:
                return self.start + step["end"]
        return None


class Deaths(TemporaryFolder):
    SECONDS = {}  # From a kill until all others had ended or taken another step, by strategy.

    @classmethod
    def tearDownClass(cls):
        for strategy, seconds in cls.SECONDS.items():
            print(f"{strategy}: {len(seconds)} kills; until all others had ended or gone on, "
                  f"{statistics.median(seconds):.2f} s (median), {max(seconds):.2f} s (longest)")

    def begin(self, strategy, steps, *options):
        job = begin(self, 4, "--strategy", strategy, "--steps", steps, "--batch", 8, "--compute", "2ms", "--out",
                    self.folder / "out", *options)
        self.await_steps(40)
        return job, workers_of(job)

    def kill_one(self, strategy, victim, delay):
        leavings = Leavings()
        goes_on = survives(strategy) and victim != 0  # Worker 0 writes down what all do.
        job, processes = self.begin(strategy, 1500 if goes_on else 100000)
        leavings.know(processes.values())
        clock = StepClock(self.folder / "out/steps.jsonl")
        self.addCleanup(clock.file.close)
        until = time.monotonic() + delay
        while time.monotonic() < until:
            clock.read()
            time.sleep(0.005)
        os.kill(processes[victim], signal.SIGKILL)
        killed = time.monotonic()
        others = {worker: process for worker, process in processes.items() if worker != victim}
        reacted = self.last_reaction(clock, others, killed) if goes_on else self.last_end(others.values(), killed)
        self.SECONDS.setdefault(strategy, []).append(reacted - killed)
        _, errors = job.communicate(timeout=120)
        self.assertEqual(leavings.found(), [], "something was left behind")
        if goes_on:
            self.assertEqual(job.returncode, 0, errors)
            summary = self.summary()
            self.assertEqual(summary["status"], "complete")
            self.assertRegex(" ".join(summary["lost"]), f"worker {victim} ")
            self.assertTrue(any(each["worker"] == victim for each in self.steps()), "its records are kept")
        else:
            self.assertNotEqual(job.returncode, 0, errors)
            self.assertRegex(errors, f"worker {victim} is gone")
            self.assertRegex(errors, "step \\d+")
        shutil.rmtree(self.folder / "out")

    def last_end(self, processes, killed):
        while any(map(alive, processes)):
            self.assertLess(time.monotonic() - killed, 30, "somebody has not noticed")
            time.sleep(0.005)
        return time.monotonic()

    def last_reaction(self, clock, processes, killed):
        """When the last of them took another step, or ended because the run was over."""
        reactions = {}
        while len(reactions) < len(processes):
            self.assertLess(time.monotonic() - killed, 30, f"of {list(processes)} only {list(reactions)} went on")
            clock.read()
            for worker, process in processes.items():
                moment = clock.first_end_after(worker, killed)
                if moment is not None or not alive(process):
                    reactions.setdefault(worker, moment or time.monotonic())
            time.sleep(0.005)
        return max(reactions.values())

    def test_the_others_learn_of_a_killed_process_or_go_on(self):
        random.seed(1)
        for strategy in ("p_reduce", "ad_psgd", "ds_sync", "bsp"):
            for moment in range(10 if ALL else 1):
                victim = random.randrange(4) if ALL or not survives(strategy) else random.randrange(1, 4)
                with self.subTest(strategy=strategy, victim=victim, moment=moment):
                    self.kill_one(strategy, victim, random.uniform(0, 0.5))

    def test_a_death_around_the_first_large_messages_is_noticed_by_all(self):
        for moment in range(20 if ALL else 2):
            job = begin(self, 4, "--strategy", "ds_sync", "--steps", 100000, "--batch", 8, "--model",
                        "mlp:hidden=3000", "--out", self.folder / f"out {moment}")
            self.await_steps(0, f"out {moment}")
            time.sleep(random.uniform(0, 0.4))
            processes = workers_of(job)
            os.kill(processes.pop(2), signal.SIGKILL)
            self.last_end(processes.values(), time.monotonic())
            _, errors = job.communicate(timeout=120)
            self.assertRegex(errors, "worker 2 (is gone|was taken)|lost worker 2", errors)

    def test_a_stopped_process_is_late_and_not_dead(self):
        seconds = 8 if ALL else 2
        job, processes = self.begin("ds_sync", 400)
        os.kill(processes[2], signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(processes[2], signal.SIGCONT)
        _, errors = job.communicate(timeout=120)
        self.assertEqual(job.returncode, 0, errors)
        self.assertEqual(self.summary()["lost"], [])

    def test_a_deadline_ends_the_wait_for_a_stopped_process(self):
        job, processes = self.begin("bsp", 100000, "--deadline", 2)
        os.kill(processes[2], signal.SIGSTOP)
        try:
            _, errors = job.communicate(timeout=60)
        finally:
            if alive(processes[2]):
                os.kill(processes[2], signal.SIGKILL)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("gave up after 2 s", errors)


def survives(strategy):
    return strategy in ("p_reduce", "ad_psgd")


class Waiting(TemporaryFolder):
    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "what a sanitizer adds is not the product's")
    def test_for_a_stopped_process_takes_next_to_nothing_of_a_core(self):
        for engine in ("ucx", "mpi") if has_mpi() else ("ucx",):
            with self.subTest(engine=engine):
                out = f"out {engine}"
                job = begin(self, 8, "--strategy", "bsp", "--steps", 1000000, "--batch", 8, "--deadline", 300, "--out",
                            self.folder / out, engine=engine)
                self.await_steps(80, out)
                processes = workers_of(job)
                self.assertEqual(len(processes), 8)
                stopped = processes.pop(3)
                os.kill(stopped, signal.SIGSTOP)
                try:
                    self.await_silence(self.folder / out / "steps.jsonl")
                    share = self.share_of_a_core([job.pid, *processes.values()])
                finally:
                    os.kill(stopped, signal.SIGCONT)
                job.send_signal(signal.SIGINT)
                job.communicate(timeout=120)
                print(f"{engine}: 7 processes that wait, and who started them, take {100 * share:.1f} % of a core")
                if engine == "ucx":  # MPI wakes nobody: whoever waits has to look, and a busy machine makes looks dear.
                    self.assertLess(share, 0.05)

    def share_of_a_core(self, processes):
        began, before = time.monotonic(), computing_seconds(processes)
        time.sleep(3)
        return (computing_seconds(processes) - before) / (time.monotonic() - began)

    def await_silence(self, path):
        """Until nobody has taken a step for a while, over MPI looked for something to see to often."""
        size, since = path.stat().st_size, time.monotonic()
        while time.monotonic() < since + 3:
            if path.stat().st_size != size:
                size, since = path.stat().st_size, time.monotonic()
            time.sleep(0.1)


class BadInput(TemporaryFolder):
    def processes(self, *each):
        """One process for each list of options, in one job of its own."""
        port = 20000 + os.getpid() % 20000 + random.randrange(5000)
        started = [
            subprocess.Popen([program.PROGRAM, "train", "--engine", "ucx", "--steps", "5", "--store",
                              f"127.0.0.1:{port}", *map(str, options)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=dict(os.environ, UCX_NET_DEVICES="lo"))
            for options in each
        ]
        ended = []
        for process in started:
            try:
                ended.append((*process.communicate(timeout=60), process.returncode))
            except subprocess.TimeoutExpired:
                process.kill()
                ended.append((*process.communicate(), "hangs"))
        return [(status, errors) for _, errors, status in ended]

    def expect(self, ended, *words):
        for status, errors in ended:
            self.assertEqual(status, 2, errors)
            for word in words:
                self.assertIn(word, errors)

    def test_ranks_that_disagree(self):
        rank = ("--workers", 2, "--rank")
        self.expect(self.processes((*rank, 0), (*rank, 1, "--lr", 0.5)), "worker 0 has --lr 0.1",
                    "worker 1 has --lr 0.5")

    def test_ranks_that_disagree_on_what_checkpoints_do_not_keep(self):
        rank = ("--workers", 2, "--rank")
        self.expect(self.processes((*rank, 0), (*rank, 1, "--keep-going")), "worker 0 has --keep-going false",
                    "worker 1 has --keep-going true")

    def test_nobody_waits_for_a_rank_of_mpi_that_is_refused(self):
        if not has_mpi():
            self.skipTest("there is no mpi")
        (self.folder / "summary.json").write_text("of somebody else")
        run = mpirun(3, "--steps", 5, "--out", self.folder)  # Only worker 0 writes there.
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("choose another name", run.stderr)

    def test_a_rank_that_never_comes(self):
        rank = ("--workers", 3, "--rendezvous", 2, "--rank")
        ended = self.processes((*rank, 0), (*rank, 1))
        self.expect(ended)
        self.assertIn("worker 2", ended[0][1])

    def test_two_of_one_number(self):
        rank = ("--workers", 3, "--rendezvous", 3, "--rank")
        ended = self.processes((*rank, 0), (*rank, 1), (*rank, 1))
        self.assertEqual([status for status, _ in ended], [2, 2, 2], ended)
        self.assertTrue(any("two processes of this job say that they are worker 1" in errors for _, errors in ended))

    def test_a_store_that_cannot_be_reached(self):
        self.expect(self.processes(("--workers", 2, "--rendezvous", 1, "--rank", 1)), "127.0.0.1")

    def test_a_rank_beyond_the_workers(self):
        self.expect(self.processes(("--workers", 2, "--rank", 2)), "--rank")

    def test_one_who_refuses_to_run_is_not_waited_for(self):
        rank = ("--workers", 2, "--rank")
        began = time.monotonic()
        ended = self.processes((*rank, 0), (*rank, 1, "--strategy", "nonsense"))
        self.assertEqual([status for status, _ in ended], [2, 2], ended)
        self.assertIn("worker 1 does not take part", ended[0][1])
        self.assertLess(time.monotonic() - began, 50)

    def test_options_of_processes_elsewhere(self):
        run = huddle("train", "--rank", 1)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--rank would do nothing", run.stderr)

    def test_who_is_alone_is_told_how_to_start(self):
        run = huddle("train", "--engine", "ucx")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("huddle launch", run.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "only root can hide a folder from a process")
    def test_a_folder_that_is_not_shared(self):
        save = self.folder / "save"
        save.mkdir()
        script = self.folder / "worker"
        script.write_text(f'#!/bin/sh\n[ "$HUDDLE_RANK" = 1 ] || exec "{program.PROGRAM}" "$@"\n'
                          f'exec unshare -m sh -c \'mount -t tmpfs none "{save}" && exec "$0" "$@"\' '
                          f'"{program.PROGRAM}" "$@"\n')
        script.chmod(0o755)
        run = launch(2, *SHORT, "--save", save, options=("--program", script))
        if "mount" in run.stderr:
            self.skipTest("this machine does not let root mount")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("worker 1 cannot see what worker 0 writes there", run.stderr)


if __name__ == "__main__":
    program.main()
