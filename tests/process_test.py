"""Workers as processes: the same bits as elsewhere, one run in many processes, and what happens when one of them dies,
stops, or means another run.

Run: python3 tests/process_test.py build/huddle
     HUDDLE_ALL=1: every strategy, and every moment at which a process is killed
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

import program
from program import TemporaryFolder, huddle

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
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
    command = ["mpirun", "-n", str(workers), program.PROGRAM, "train", "--engine", "mpi", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


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
        lanes = {event["args"]["name"] for event in timeline["traceEvents"] if event["name"] == "process_name"}
        self.assertTrue({"worker 0", "worker 1", "worker 2"} <= lanes or len(lanes) >= 1, lanes)

    def test_a_checkpoint_goes_on_on_another_engine(self):
        whole = huddle("train", "--workers", 3, "--steps", 20, "--batch", 8, "--strategy", "ds_sync", "--json")
        first = launch(3, "--steps", 10, "--batch", 8, "--strategy", "ds_sync", "--save", self.folder / "save")
        self.assertEqual(first.returncode, 0, first.stderr)
        for engine in ("threads", "ucx"):
            folder = self.folder / f"copy {engine}"
            shutil.copytree(self.folder / "save", folder)
            options = ("--resume", folder, "--steps", 20, "--json")
            second = launch(3, *options) if engine == "ucx" else huddle("train", *options)
            self.assertEqual(second.returncode, 0, second.stderr)
            expected, got = values_of(whole), values_of(second)
            for name in ("drift",):
                self.assertEqual(got[name], expected[name], engine)

    def test_an_interrupted_run_leaves_whole_files(self):
        job = begin(self, 3, "--strategy", "ds_sync", "--steps", 100000, "--out", self.folder / "out")
        self.await_steps(20)
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, errors)
        self.assertEqual(self.summary()["status"], "interrupted")
        self.assertGreater(len(self.steps()), 20)


def begin(test, workers, *arguments):
    """A job in the background."""
    command = [program.PROGRAM, "launch", "-n", str(workers), "--", "train", "--engine", "ucx",
               *map(str, arguments)]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    test.addCleanup(job.stdout.close)
    test.addCleanup(job.stderr.close)
    test.addCleanup(job.wait)
    test.addCleanup(job.kill)
    return job


def workers_of(job):
    """The processes that a job has started, by worker."""
    children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True, check=False).stdout.split()
    by_rank = {}
    for child in children:
        try:
            with open(f"/proc/{child}/environ", "rb") as file:
                found = re.search(rb"HUDDLE_RANK=(\d+)", file.read())
        except OSError:
            continue
        if found:
            by_rank[int(found[1])] = int(child)
    return by_rank


def alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Deaths(TemporaryFolder):
    def begin(self, strategy, steps, *options):
        job = begin(self, 4, "--strategy", strategy, "--steps", steps, "--batch", 8, "--compute", "2ms", "--out",
                    self.folder / "out", *options)
        self.await_steps(40)
        return job, workers_of(job)

    def kill_one(self, strategy, victim, delay):
        job, processes = self.begin(strategy, 1500 if survives(strategy) else 100000)
        time.sleep(delay)
        os.kill(processes[victim], signal.SIGKILL)
        killed = time.monotonic()
        if not survives(strategy):
            others = [process for worker, process in processes.items() if worker != victim]
            while any(map(alive, others)):
                self.assertLess(time.monotonic() - killed, 30, "somebody has not noticed")
                time.sleep(0.02)
        _, errors = job.communicate(timeout=120)
        for process in processes.values():
            self.assertFalse(alive(process), "a process was left behind")
        if survives(strategy) and victim != 0:
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

    def test_the_others_learn_of_a_killed_process_or_go_on(self):
        random.seed(1)
        for strategy in ("p_reduce", "ad_psgd", "ds_sync", "bsp"):
            for moment in range(10 if ALL else 1):
                victim = random.randrange(1, 4) if survives(strategy) else random.randrange(4)
                with self.subTest(strategy=strategy, victim=victim, moment=moment):
                    self.kill_one(strategy, victim, random.uniform(0, 0.5))

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
