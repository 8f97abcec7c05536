"""The program in a simulated cluster: bits, times, cluster files, interruption.

Run: python3 tests/sim_program_test.py build/huddle
"""

import json
import pathlib
import signal
import subprocess
import time

import program
from program import TemporaryFolder, huddle

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "clusters").glob("*.toml"))
DETERMINISTIC = (
    "bsp:algorithm=ring,buckets=3", "bsp:algorithm=halving_doubling",
    "bsp:algorithm=leader", "bsp:algorithm=sharded,overlap=none", "bsp:algorithm=direct,lanes=2,buckets=4",
    "ds_sync", "ds_sync:schedule=rotating", "ds_sync:schedule=random", "ds_sync:overlap=backward,buckets=4",
    "ds_sync:order=before", "sesgd", "sesgd:slots=average", "local_sgd", "local_sgd:inner=rack",
    "local_sgd:scope=grid", "post_local_sgd:warmup=10", "slowmo:tau=8", "easgd", "cocod", "overlap_local_sgd",
    "overlap_local_sgd:beta=0.7", "diloco:tau=10", "ds_sync:hide=step", "sesgd:hide=step,slots=average,wire=int8",
    "sesgd:slots=average,wire=bf16,slots_wire=int8", "ds_sync:wire=bf16,hide=step,slots=average,slots_wire=int8",
    "bsp:wire=int8", "cocod:wire=bf16")


class Simulation(TemporaryFolder):
    def train(self, *arguments, **options):
        answer = huddle("train", *arguments, "--quiet", "--json", **options)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)

    def test_the_same_bits_as_on_threads_for_every_deterministic_strategy(self):
        import torch
        for number, strategy in enumerate(DETERMINISTIC):
            weights = []
            for engine in ("threads", "sim"):
                folder = self.folder / f"{number}-{engine}"
                self.train("--engine", engine, "--workers", 8, "--racks", "2x4", "--steps", 30, "--model",
                           "cnn:channels=4", "--strategy", strategy, "--save", folder)
                weights.append(torch.load(folder / "consensus.pt"))
            for key, tensor in weights[0].items():
                self.assertTrue(torch.equal(tensor, weights[1][key]), f"{strategy}: {key}")

    def test_a_run_repeats_with_all_its_times(self):
        arguments = ("--engine", "sim", "--workers", 6, "--steps", 40, "--jitter", 0.2, "--strategy", "ds_sync")
        for name in ("a", "b"):
            self.train(*arguments, "--out", self.folder / name)
        self.assertEqual(self.summary("a"), self.summary("b"))
        self.assertEqual(self.steps("a"), self.steps("b"))
        self.assertGreater(self.summary("a")["seconds"], 40 * 0.035)

    def test_every_example_cluster_runs_trained_and_timed_and_on_threads(self):
        self.assertGreaterEqual(len(FILES), 5)
        for file in FILES:
            # In full: a small model has few blocks of int8 to cut, so its pieces are of unequal sizes.
            strategy = ("--strategy", "ds_sync:form=paper")
            trained = self.train("--engine", "sim", "--cluster", file, "--steps", 5, *strategy)
            self.assertEqual(trained["network"], "alpha_beta")
            timed = self.train("--engine", "sim", "--cluster", file, "--steps", 5, *strategy, "--timing-only")
            # The statistics of a real model travel too, so it takes a little longer.
            self.assertAlmostEqual(timed["seconds"] / trained["seconds"], 1, delta=0.05, msg=file.name)

    def test_threads_inject_a_cluster_and_say_what_they_leave_out(self):
        file = self.folder / "busy.toml"
        file.write_text('workers = 2\n[network]\nnic = "10Gbps"\nlatency = "1ms"\n[compute]\nstep = "5ms"\n'
                        '[[background]]\nworker = 0\nrate = "1Gbps"\n')
        answer = huddle("train", "--cluster", file, "--steps", 20, "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("leaves out of this cluster: background traffic", answer.stderr)
        self.assertGreater(json.loads(answer.stdout)["seconds"], 20 * 0.006)

    def test_the_network_that_is_assumed_is_told(self):
        said = huddle("train", "--engine", "sim", "--workers", 2, "--steps", 2, "--latency", "1ms").stdout
        self.assertIn("plain LAN, compute 35ms (assumed), latency 1ms, bandwidth 10Gbps (assumed)",
                      " ".join(said.split()))

    def test_a_run_that_trains_nothing_has_no_loss(self):
        answer = huddle("train", "--engine", "sim", "--workers", 2, "--steps", 3, "--timing-only", "--wire", "1MB",
                        "--out", self.folder / "out")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertNotIn("loss", answer.stdout + answer.stderr)
        self.assertIsNone(self.summary()["loss"])
        self.assertEqual({line["loss"] for line in self.steps()}, {None})

    def test_wire_makes_a_small_model_count_as_a_large_one(self):
        arguments = ("--engine", "sim", "--workers", 4, "--steps", 5, "--strategy", "sesgd:form=paper",
                     "--bandwidth", "1Gbps")
        small = self.train(*arguments)
        large = self.train(*arguments, "--wire", "100MB")
        self.assertGreater(large["seconds"], 5 * 0.8)
        self.assertLess(small["seconds"], 5 * 0.1)
        self.assertEqual(small["loss"], large["loss"])

    def test_what_travels_beside_a_step_may_take_longer_than_a_deadline(self):
        self.train("--engine", "sim", "--workers", 8, "--data", "quadratic", "--wire", "100MB", "--bandwidth", "1Gbps",
                   "--compute", "100ms", "--steps", 6, "--deadline", 1, "--strategy",
                   "ds_sync:form=paper,hide=step")

    def test_the_tcp_model_is_named_with_the_result(self):
        file = self.folder / "tcp.toml"
        file.write_text('workers = 2\n[network]\nmodel = "tcp"\nnic = "10Gbps"\nlatency = "5ms"\n')
        slow = self.train("--engine", "sim", "--cluster", file, "--steps", 3, "--wire", "100MB", "--strategy",
                          "sesgd:form=paper")
        self.assertEqual(slow["network"], "tcp")
        self.assertGreater(slow["seconds"], 3 * 0.2, "a TCP window should cap a path of 5 ms")

    def test_all_problems_of_a_file_are_told_at_once_with_their_lines(self):
        file = self.folder / "wrong.toml"
        file.write_text('workers = 4\n[network]\nnic = "10"\nlatencey = "1ms"\n[[slow]]\nworker = 9\nfactor = 2.0\n')
        answer = huddle("train", "--engine", "sim", "--cluster", file, "--out", self.folder / "out")
        self.assertEqual(answer.returncode, 2, answer.stderr)
        for part in ("wrong.toml:3:", "wrong.toml:4:", "did you mean 'latency'", "wrong.toml:5:"):
            self.assertIn(part, answer.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_other_bad_input_is_refused(self):
        lan = ROOT / "clusters" / "lan.toml"
        for arguments, part in (
                (["--engine", "sim", "--cluster", lan, "--workers", 3], "has 16 workers"),
                (["--engine", "sim", "--cluster", lan, "--latency", "1ms"], "--cluster"),
                (["--engine", "sim", "--cluster", "missing.toml"], "missing.toml"),
                (["--engine", "sim", "--cluster", lan, "--strategy", "ds_sync:radices=3x5"], "16"),
                (["--engine", "sim", "--timing-only"], "--wire"),
                (["--engine", "sim", "--wire", "1e12GB"], "--wire: '1e12GB' is not at least 1 kB and at most 100000"),
                (["--engine", "sim", "--timing-only", "--wire", "1MB", "--workers", 2_000_000],
                 "2000000 workers on engine sim would take about"),
                (["--engine", "sim", "--timing-only", "--wire", "1MB", "--workers", 2_000_000, "--strategy", "sesgd"],
                 "workers fit, as --workers"),
                (["--workers", 9_000_000], "9000000 workers on engine threads would take about"),
                (["--engine", "sim", "--wire", "0B"], "--wire: '0B' is not at least 1 kB"),
                (["--engine", "sim", "--wire", "100000GB", "--bandwidth", "1bps"], "it must be at most 1.25e+08 bytes"),
                (["--engine", "sim", "--compute", "1e300s"], "--compute: '1e300s' is too long; a time is from 0 s to"),
                (["--engine", "sim", "--timing-only", "--wire", "1MB", "--data", "digits"], "--data would do nothing"),
                (["--engine", "sim:native=on"], "native")):
            answer = huddle("train", *arguments)
            self.assertEqual(answer.returncode, 2, f"{arguments}: {answer.stderr}")
            self.assertIn(part, answer.stderr)

    def test_accumulated_passes_take_their_compute_time_each(self):
        arguments = ("--engine", "sim", "--workers", 2, "--steps", 4, "--compute", "10ms", "--latency", "0ms",
                     "--bandwidth", "1000Gbps")
        for passes in (1, 3):
            run = self.train(*arguments, "--accumulate", passes)
            self.assertAlmostEqual(run["seconds"], 4 * 0.01 * passes, delta=1e-4)

    def test_racks_of_a_cluster_file_are_kept_in_a_checkpoint_and_checked(self):
        files = {}
        for name, racks in (("pairs", "[racks]\ncount = 2\nworkers = 2\n"), ("flat", "workers = 4\n"),
                            ("single", "[racks]\ncount = 4\nworkers = 1\n")):
            files[name] = self.folder / f"{name}.toml"
            files[name].write_text(racks + '[compute]\nstep = "5ms"\n')
        saved = self.folder / "saved"
        common = ("--engine", "sim", "--quiet")
        first = huddle("train", *common, "--cluster", files["pairs"], "--steps", 4, "--strategy",
                       "local_sgd:inner=rack", "--save", saved)
        self.assertEqual(first.returncode, 0, first.stderr)
        for other in ("flat", "single"):
            answer = huddle("train", *common, "--resume", saved, "--cluster", files[other], "--steps", 8)
            self.assertEqual(answer.returncode, 2, answer.stderr)
            for part in (f"{other}.toml", "racks", "2x2"):
                self.assertIn(part, answer.stderr)
        answer = huddle("train", *common, "--resume", saved, "--cluster", files["pairs"], "--steps", 8)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        # Without the file the racks are those of the checkpoint, which another --racks contradicts.
        answer = huddle("train", *common, "--resume", saved, "--steps", 8)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        answer = huddle("train", *common, "--resume", saved, "--racks", "4x1", "--steps", 8)
        self.assertEqual(answer.returncode, 2, answer.stderr)

    def test_racks_may_differ_in_size(self):
        file = self.folder / "uneven.toml"
        file.write_text('[racks]\nsizes = [3, 1, 2]\n[network]\nnic = "10Gbps"\nuplink = "1Gbps"\n')
        saved = self.folder / "saved"
        common = ("--engine", "sim", "--quiet")
        for strategy in ("local_sgd:scope=grid", "bsp:algorithm=leader"):
            answer = huddle("train", *common, "--cluster", file, "--steps", 4, "--strategy", strategy, "--save", saved,
                            "--replace")
            self.assertEqual(answer.returncode, 0, answer.stderr)
        answer = huddle("train", *common, "--resume", saved, "--cluster", file, "--steps", 8)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        for strategy in ("bsp:algorithm=sharded", "ds_sync:schedule=rotating", "local_sgd:inner=rack"):
            answer = huddle("train", *common, "--cluster", file, "--steps", 4, "--strategy", strategy)
            self.assertEqual(answer.returncode, 2, answer.stderr)

    def test_an_injected_death_names_worker_and_step(self):
        answer = huddle("train", "--engine", "sim", "--workers", 5, "--steps", 50, "--kill", "2@7+1")
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn("worker 2 died", answer.stderr)

    def test_a_divergence_ends_a_simulation_alike_each_time(self):
        for strategy in ("bsp", "local_sgd:tau=50", "p_reduce:group=2", "asp", "ssp", "ad_psgd", "eager"):
            ends = []
            for name in (f"{strategy}-{turn}" for turn in (1, 2)):
                answer = huddle("train", "--engine", "sim", "--workers", 4, "--steps", 100000, "--data", "quadratic",
                                "--lr", "1e6", "--strategy", strategy, "--jitter", 0.2, "--out", self.folder / name)
                self.assertEqual(answer.returncode, 1, answer.stderr)
                self.assertEqual(self.summary(name)["status"], "diverged")
                self.assertRegex(answer.stderr, r"the loss of worker \d was not finite in 20 steps in a row")
                ends.append((answer.stderr.splitlines()[-1], self.summary(name)["steps_taken"]))
            self.assertEqual(ends[0], ends[1], strategy)

    def test_an_interrupted_simulation_leaves_valid_files(self):
        process = subprocess.Popen([program.PROGRAM, "train", "--engine", "sim", "--workers", "4", "--steps",
                                    "1000000", "--out", str(self.folder / "out"), "--save",
                                    str(self.folder / "saved")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.await_steps(5)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - asked, 20)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(self.summary()["status"], "interrupted")
        self.assertGreaterEqual(len(self.steps()), 5)
        done = self.summary()["steps_done"]
        answer = huddle("train", "--resume", self.folder / "saved", "--steps", done + 2, "--quiet")
        self.assertEqual(answer.returncode, 0, answer.stderr)


if __name__ == "__main__":
    program.main()
