"""`huddle bench`: what it measures is whole and right on every engine, and what it refuses.

Run: python3 tests/bench_test.py build/huddle
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

import program
from program import TemporaryFolder, huddle

TINY = ("--samples", "1", "--seconds", "0.001", "--sizes", "4B,4KiB,1MiB", "--json")


def require_engine(test, name):
    if name not in huddle("list", "engines").stdout.splitlines():
        test.skipTest(f"this build has no engine {name}")
    if name == "mpi" and not shutil.which("mpirun"):
        test.skipTest("there is no mpirun")


def under_mpirun(workers, *arguments):
    return subprocess.run(["mpirun", "-n", str(workers), program.PROGRAM, *arguments], capture_output=True, text=True,
                          timeout=300, check=False, env=program.environment_for_mpi())


class Collectives(TemporaryFolder):
    def measured(self, answer):
        self.assertEqual(answer.returncode, 0, answer.stderr)
        all = json.loads(answer.stdout)
        self.assertEqual({time["bytes"] for time in all["times"]}, {4, 4096, 1 << 20})
        for time in all["times"]:
            self.assertGreater(time["median_seconds"], 0)
            self.assertLessEqual(time["low_seconds"], time["median_seconds"])
            self.assertLessEqual(time["median_seconds"], time["high_seconds"])
        return {time["way"] for time in all["times"]}, {time["group"] for time in all["times"]}

    def test_threads_beside_a_copy(self):
        ways, groups = self.measured(huddle("bench", "collectives", "--workers", 4, *TINY))
        self.assertEqual(ways, {"huddle", "memory copy"})
        self.assertEqual(groups, {2, 4})

    def test_gloo_takes_part_and_its_averages_are_verified(self):
        ways, _ = self.measured(huddle("bench", "collectives", "--workers", 2, "--gloo", sys.executable, *TINY,
                                       env={**os.environ, "TMPDIR": str(self.folder)}))
        self.assertEqual(list(self.folder.iterdir()), [], "something was left behind")
        self.assertIn("all-reduce of Gloo in PyTorch", ways)

    def test_processes_beside_a_bare_exchange(self):
        require_engine(self, "ucx")
        ways, groups = self.measured(huddle("launch", "-n", 4, "--", "bench", "collectives", "--engine", "ucx", *TINY))
        self.assertEqual(ways, {"huddle", "memory copy", "bare exchange over UCX"})
        self.assertEqual(groups, {2, 4})

    def test_processes_beside_all_reduces_of_mpi(self):
        require_engine(self, "mpi")
        ways, _ = self.measured(under_mpirun(2, "bench", "collectives", "--engine", "mpi", *TINY))
        self.assertIn("huddle", ways)
        if len(ways) > 2:  # Where MPI can be called by several threads.
            self.assertLessEqual({"MPI_Allreduce, communicator kept", "MPI_Allreduce, communicator made"}, ways)

    def test_a_page_with_a_chart_for_each_size_of_group(self):
        page = self.folder / "bench.html"
        answer = huddle("bench", "collectives", "--workers", 4, "--report", page, *TINY)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        text = page.read_text()
        for part in ("<h2>Groups of 2</h2>", "<h2>Groups of 4</h2>", "<svg", "memory copy"):
            self.assertIn(part, text)
        self.assertNotIn("http", text)

    def test_bad_input(self):
        for arguments, part in ((["--engine", "sim"], "--timing-only"), (["--engine", "ucxx"], "did you mean"),
                                (["--groups", "3"], "--groups 2 with 4 workers"),
                                (["--sizes", "1"], "one of the units"), (["--sizes", "2B"], "from 4B to 4GB"),
                                (["--samples", "0"], "--samples"), (["--gloo", "/nowhere/python"], "--gloo"),
                                (["--report", "/nowhere/bench.html"], "--report")):
            answer = huddle("bench", "collectives", *arguments)
            self.assertEqual(answer.returncode, 2, f"{arguments}: {answer.stderr}")
            self.assertIn(part, answer.stderr)


class Train(unittest.TestCase):
    def test_all_strategies_step_and_those_that_cannot_are_named(self):
        answer = huddle("bench", "train", "--workers", 4, "--model", "64kB", "--compute", "0ms", "--steps", 10,
                        "--samples", 2, "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        all = json.loads(answer.stdout)
        known = {line.split()[0] for line in huddle("list", "strategies").stdout.splitlines()
                 if line and not line.startswith(" ")}
        measured = {one["strategy"] for one in all["strategies"]}
        left_out = {line.split(":")[0] for line in all["left_out"]}
        self.assertLessEqual({"bsp", "ds_sync", "sesgd", "p_reduce", "ad_psgd", "asp", "local_sgd"}, measured)
        self.assertLessEqual(measured | left_out, known)
        self.assertIn("diloco", left_out)
        for one in all["strategies"]:
            self.assertEqual(len(one["steps_per_second"]), 2)
            self.assertGreater(min(one["steps_per_second"]), 0)
            self.assertGreater(one["bytes_sent_per_step"], 0, one["strategy"])

    def test_processes_step_as_well(self):
        require_engine(self, "ucx")
        answer = huddle("launch", "-n", 2, "--", "bench", "train", "--engine", "ucx", "--strategy", "bsp",
                        "--strategy", "p_reduce:group=2", "--steps", 10, "--samples", 1)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"(?m)^bsp +\d")
        self.assertRegex(answer.stdout, r"(?m)^p_reduce:group=2 +\d")

    def test_bad_input(self):
        for arguments, part in ((["--strategy", "bps"], "did you mean 'bsp'"), (["--model", "4"], "one of the units"),
                                (["--model", "1B"], "from 1kB"), (["--compute", "fast"], "--compute"),
                                (["--strategy", "diloco"], "tau is 500"), (["--engine", "sim"], "--timing-only")):
            answer = huddle("bench", "train", *arguments)
            self.assertEqual(answer.returncode, 2, f"{arguments}: {answer.stderr}")
            self.assertIn(part, answer.stderr)


if __name__ == "__main__":
    program.main()
