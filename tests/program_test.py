"""The program as users run it: what it writes, what it refuses, how it ends.

Run: python3 tests/program_test.py build/huddle

Needs a Python with torch, because PyTorch users must be able to read the weights.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import program
from program import TemporaryFolder, huddle


class Words(unittest.TestCase):
    def test_the_demo_builds_what_the_readme_runs(self):
        root = pathlib.Path(__file__).resolve().parent.parent
        named = set(re.findall(r"\bbuild/(\w+)", (root / "README.md").read_text()))
        recipe = re.search(r"(?m)^demo:.*\n((?:\t.*\n)+)", (root / "Makefile").read_text())[1]
        built = set(re.search(r"\$\(call build,build,([\w ]+)\)", recipe)[1].split())
        self.assertTrue({"huddle", "train_digits"} <= named, named)
        self.assertLessEqual(named, built)

    def test_the_closing_table_explains_itself(self):
        answer = huddle("train", "--workers", 4, "--steps", 8, "--strategy", "p_reduce:group=2")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"training loss   \d.*, mean of the last 8 steps of all workers")
        self.assertRegex(answer.stdout, r"\d workers in a group, on the average")
        self.assertRegex(answer.stdout, r"\d groups formed")
        for raw in ("held_s", "longest_apart", "rho", "group_size", "recent loss"):
            self.assertNotIn(raw, answer.stdout)

    def test_what_a_strategy_leaves_open_is_told(self):
        for optimizer, slots in (("sgd", "slots=average,slots_wire=int8"), ("adamw", "slots=keep,slots_wire=same")):
            arguments = ("train", "--workers", 4, "--steps", 4, "--strategy", "sesgd", "--optimizer", optimizer)
            self.assertIn(f"sesgd:{slots},wire=bf16\n", huddle(*arguments).stdout)
            summary = json.loads(huddle(*arguments, "--json").stdout)
            self.assertEqual((summary["strategy"], summary["settled"]), ("sesgd", f"sesgd:{slots},wire=bf16"))
        listed = huddle("list", "strategies").stdout
        self.assertIn("weights=constant  dynamic: models that are behind count less; constant: all count alike "
                      "(dynamic, constant); form=paper: dynamic\n", listed)

    def test_more_workers_than_cores_are_told(self):
        cores = len(os.sched_getaffinity(0))
        told = f"workers share {cores} cores"
        self.assertIn(f"{cores + 1} {told}", huddle("train", "--workers", cores + 1, "--steps", 2).stderr)
        self.assertNotIn(told, huddle("train", "--workers", 1, "--steps", 2).stderr)
        self.assertEqual(huddle("train", "--workers", cores + 1, "--steps", 2, "--quiet").stderr, "")


class Help(unittest.TestCase):
    def test_every_command_teaches(self):
        for arguments, words in (([], "huddle train"), (["train"], "huddle train"), (["list"], "bsp:algorithm"),
                                 (["compare"], "Runs several strategies"), (["report"], "Makes one self-contained"),
                                 (["schedule"], "huddle schedule")):
            answer = huddle(*arguments, "--help")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertIn(words, answer.stdout)

    def test_version(self):
        self.assertRegex(huddle("--version").stdout, r"^huddle \d+\.\d+\.\d+\n$")

    def test_lists_name_everything_with_its_keys(self):
        self.assertIn("buckets=0", huddle("list", "strategies").stdout)
        for word in ("mlp", "cnn"):
            self.assertIn(word, huddle("list", "models").stdout)
        for word in ("digits", "mnist", "fashion_mnist", "quadratic"):
            self.assertIn(word, huddle("list", "data").stdout)
        self.assertIn("threads", huddle("list", "engines").stdout)

    def test_a_schedule_is_shown_analysed_and_refused_when_it_never_mixes(self):
        answer = json.loads(huddle("schedule", "ds_sync", "--workers", 16, "--json").stdout)
        self.assertEqual(answer["exact_consensus_steps"], 2)
        self.assertEqual(answer["phases"][0][0], [0, 1, 2, 3])
        self.assertAlmostEqual(answer["deviation_variance"], 0.1875)
        refused = huddle("schedule", "ds_sync:schedule=fixed", "--workers", 16)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertEqual(huddle("schedule", "ds_sync", "--workers", 1024).returncode, 0)

    def test_a_cluster_file_decides_what_auto_means_and_a_format_what_is_sent(self):
        file = pathlib.Path(__file__).resolve().parent.parent / "clusters" / "oversubscribed_racks.toml"
        answer = huddle("schedule", "ds_sync", "--cluster", file)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("uplinks are narrower", answer.stdout)
        self.assertEqual(huddle("schedule", "ds_sync", "--cluster", file, "--workers", 8).returncode, 2)
        told = [json.loads(huddle("schedule", strategy, "--workers", 16, "--json").stdout)
                for strategy in ("sesgd:form=paper", "sesgd:wire=float", "sesgd", "sesgd:wire=int8", "ds_sync",
                                 "ds_sync:hide=step", "bsp", "bsp:wire=bf16")]
        # Momentum travels after the model, as int8.
        self.assertEqual([each["bytes_per_step_over_model_bytes"] for each in told],
                         [1, 1.25, 0.75, 0.5, 1.125, 0.75, 1.875, 0.9375])
        self.assertEqual([each["sequential_messages"] for each in told], [1, 2, 2, 2, 12, 6, 30, 30])
        self.assertIn("Counted for sesgd:slots=average,slots_wire=int8,wire=bf16", huddle("schedule", "sesgd").stdout)

    def test_a_schedule_that_could_not_run_is_refused(self):
        for strategy, words in (("ds_sync:wire=int8", ("groups of 4", "wire=bf16")),
                                ("sesgd:hide=step,overlap=backward", ("leave overlap out",)),
                                ("sesgd:slots=keep,slots_wire=int8", ("would do nothing", "slots=average"))):
            answer = huddle("schedule", strategy, "--workers", 16)
            self.assertEqual(answer.returncode, 2, answer.stdout)
            for word in words:
                self.assertIn(word, answer.stderr)

    def test_every_strategy_with_a_schedule_shows_it(self):
        everybody = json.loads(huddle("schedule", "bsp", "--workers", 4, "--json").stdout)
        self.assertEqual(everybody["phases"], [[[0, 1, 2, 3]]])
        self.assertEqual(everybody["deviation_variance"], 0)
        answer = huddle("schedule", "random_groups:group=2", "--workers", 8)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("new random groups in every step", answer.stdout)
        for strategy in ("local_sgd", "asp"):
            refused = huddle("schedule", strategy)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            for word in (strategy, "has no schedule of groups", "bsp, ds_sync, sesgd, random_groups"):
                self.assertIn(word, refused.stderr)

    def test_schedules_whose_period_is_long_are_analysed_and_cut_short(self):
        thinned = "ds_sync:schedule=rotating,cross_every=1000,global_every=10000"
        answer = huddle("schedule", thinned, "--workers", 430, "--racks", "2x215", "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        schedule = json.loads(answer.stdout)
        self.assertEqual(schedule["period"], 2_150_000_000)
        self.assertEqual(schedule["exact_consensus_steps"], 10_000)
        self.assertLess(len(schedule["phases"]), 1_000)
        refused = huddle("schedule", "ds_sync", "--workers", 2_000_000_000)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("--workers: '2000000000' is not a whole number from 1 to 1048576", refused.stderr)


class Training(TemporaryFolder):
    def test_digits_reach_96_percent_with_8_workers(self):
        answer = huddle("train", "--workers", 8, "--data", "digits", "--steps", 300, "--out", self.folder / "out")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("consensus", answer.stdout)
        summary = self.summary()
        self.assertGreaterEqual(summary["accuracy"]["consensus"], 0.96)
        for key in ("strategy", "engine", "workers", "steps", "seed", "version", "machine", "seconds",
                    "samples_per_second", "loss", "drift", "bytes_sent_per_worker"):
            self.assertIn(key, summary)
        self.assertEqual([worker["worker"] for worker in summary["time"]], list(range(8)))
        self.assertEqual(len(self.steps()), 8 * 300)
        self.assertEqual(summary["status"], "complete")

    def test_json_instead_of_the_table(self):
        answer = huddle("train", "--steps", 5, "--json")
        self.assertEqual(json.loads(answer.stdout)["steps"], 5)

    def test_progress_is_plain_lines_where_there_is_no_terminal(self):
        answer = huddle("train", "--steps", 5)
        self.assertIn("step 5/5", answer.stderr)
        self.assertNotIn("\r", answer.stderr)

    def test_pytorch_reads_the_consensus_weights(self):
        import torch
        answer = huddle("train", "--workers", 2, "--model", "cnn", "--steps", 5, "--save", self.folder / "saved")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        weights = torch.load(self.folder / "saved" / "consensus.pt", weights_only=True)
        self.assertEqual(tuple(weights["convolution1.weight"].shape), (16, 1, 3, 3))
        self.assertEqual(weights["norm1.num_batches_tracked"].dtype, torch.int64)

    def test_every_algorithm_repeats_bit_for_bit_and_alike_on_both_paths(self):
        import torch
        for algorithm in ("ring", "halving_doubling", "leader", "sharded", "direct"):
            results = []
            for name, engine in (("a", "threads"), ("b", "threads"), ("c", "threads:native=off")):
                answer = huddle("train", "--workers", 8, "--racks", "2x4", "--steps", 200, "--engine", engine,
                                "--quiet", "--strategy", f"bsp:algorithm={algorithm},buckets=2",
                                "--save", self.folder / algorithm / name)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                results.append(torch.load(self.folder / algorithm / name / "consensus.pt"))
            for other in results[1:]:
                for key, tensor in results[0].items():
                    self.assertTrue(torch.equal(tensor, other[key]), f"{algorithm}: {key}")


class BadInput(TemporaryFolder):
    # What settings do not go together; bad_input_test.py has all other ways to be wrong.
    CASES = [
        (["--strategy", "ds_sync:radices=3x3", "--workers", "8"], "8"),
        (["--strategy", "ds_sync:slots=average", "--momentum", "0"], "slots=average"),
        (["--strategy", "sesgd:overlap=backward", "--clip", "1"], "clip"),
        (["--strategy", "ds_sync:algorithm=pair", "--workers", "9"], "groups of 2"),
        (["--strategy", "sesgd:order=before,payload=gradient"], "leave order out"),
        (["--strategy", "diloco"], "tau=300 or less, or --steps 500 or more"),
        (["--strategy", "local_sgd:tau=50", "--steps", "40"], "tau is 50, but the run has 40 steps"),
        (["--strategy", "slowmo:tau=1000", "--epochs", "1"], "--steps 1000 or more"),
        (["--swa-start", "300"], "past the end"),
        (["--resume", ""], "--resume is empty"),
        (["--kill", "1@500"], "step 500"),
        (["--strategy", "bps"], "did you mean 'bsp'"),
        (["--strategy", "bsp:bucket=4"], "did you mean 'buckets'"),
        (["--strategy", "bsp:buckets=-1"], "buckets"),
        (["--strategy", "bsp:algorithm=pair"], "groups of 2"),
        (["--strategy", "bsp:algorithm=sharded", "--workers", "3", "--racks", "2x2"], "--racks 2x2"),
        (["--strategy", "bsp:algorithm=sharded", "--workers", "5", "--racks", "3+2"], "use leader or ring"),
        (["--strategy", "ds_sync:schedule=rotating", "--workers", "5", "--racks", "3+2"], "use schedule=grid"),
        (["--workers", "5", "--racks", "3+1"], "--racks 1x5"),
        (["--model", "rnn"], "did you mean 'cnn'"),
        (["--data", "fashion-mnist"], "did you mean 'fashion_mnist'"),
        (["--engine", "thread"], "did you mean 'threads'"),
        (["--batch", "5000"], "use a batch of"),
        (["--split", "skew:2"], "skew"),
        (["--split", "idd"], "iid"),
        (["--schedule", "cosin"], "did you mean 'cosine'"),
        (["--data", "mnist", "--data-dir", "nowhere"], "tools/fetch_data.py mnist"),
        (["--out", "/dev/null/x"], "/dev/null/x"),
        (["--save", "/dev/null/x"], "/dev/null/x"),
        (["--save-every", "5", "--save", "x", "--strategy", "p_reduce"], "never all at one step"),
        (["--kill", "3"], "--kill"),
        (["--slow", "x", "--compute", "1ms"], "WORKER:FACTOR"),
        (["--latency", "5"], "--latency"),
    ]

    def test_bad_input_is_refused_with_status_2_before_any_work(self):
        def answer_to(case):
            return huddle("train", *case[0], cwd=self.folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for (arguments, word), answer in zip(self.CASES, pool.map(answer_to, self.CASES)):
                with self.subTest(arguments):
                    self.assertEqual(answer.returncode, 2, answer.stderr)
                    self.assertIn(word, answer.stderr)
                    self.assertEqual(answer.stdout, "")
        self.assertEqual(list(self.folder.iterdir()), [], "something was written")

    def test_truncated_data_is_refused(self):
        data = self.folder / "mnist"
        data.mkdir()
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                     "t10k-labels-idx1-ubyte"):
            (data / name).write_bytes(b"\0\0\x08\x01\0\0")
        answer = huddle("train", "--data", "mnist", "--data-dir", self.folder)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertIn("ubyte", answer.stderr)


class Endings(TemporaryFolder):
    def test_a_death_ends_the_run_with_its_name_and_valid_files(self):
        for kill in ("2@7", "2@7+1", "2@7+5"):
            for engine in ("threads", "threads:native=off"):
                answer = huddle("train", "--workers", 5, "--steps", 50, "--kill", kill, "--engine", engine, "--out",
                                self.folder / "out", "--replace")
                self.assertEqual(answer.returncode, 1, answer.stderr)
                self.assertIn("worker 2 died", answer.stderr)
                summary = self.summary()
                self.assertTrue(summary["status"].startswith("failed: "), summary["status"])
                # The slowest may still have been in the exchange of the step before.
                self.assertIn(summary["steps_done"], (6, 7, 8))
                self.steps()

    def test_a_run_that_nobody_survives_has_failed(self):
        for strategy in ("bsp", "p_reduce:group=2"):
            answer = huddle("train", "--workers", 2, "--strategy", strategy, "--kill", "0@5", "--kill", "1@5",
                            "--steps", 20, "--out", self.folder / "out", "--replace")
            self.assertEqual(answer.returncode, 1, answer.stderr)
            self.assertTrue(self.summary()["status"].startswith("failed: "), self.summary()["status"])

    def test_a_run_that_diverges_ends_and_keeps_its_files(self):
        common = ("train", "--workers", 3, "--data", "quadratic", "--lr", "1e6")
        answer = huddle(*common, "--steps", 100000, "--out", self.folder / "out", "--save", self.folder / "saved",
                        "--save-every", 1, "--compute", "0.1ms", "--slow", "1:2", "--slow", "2:3")
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertRegex(answer.stderr, r"the loss of worker \d was not finite in 20 steps in a row, \d to \d\d;")
        self.assertIn("--keep-going", answer.stderr)
        self.assertRegex(answer.stderr, "go on with: huddle train --resume .*saved")
        self.assertRegex(answer.stderr, "--resume .* --compute 0.1ms --slow 1:2 --slow 2:3")
        summary = self.summary()
        self.assertEqual(summary["status"], "diverged")
        self.assertRegex(summary["warnings"][-1], r"the loss of worker \d")
        self.assertLess(summary["steps_done"], 100)
        self.assertGreaterEqual(len(self.steps()), 20)
        kept = huddle(*common, "--steps", 60, "--keep-going", "--out", self.folder / "kept")
        self.assertEqual(kept.returncode, 0, kept.stderr)
        summary = self.summary("kept")
        self.assertEqual((summary["status"], summary["steps_done"]), ("complete", 60))
        self.assertIsNone(summary["drift"])
        self.assertIn("drift           not finite", kept.stdout)

    def test_a_stuck_worker_is_named_when_the_deadline_passes(self):
        begin = time.monotonic()
        answer = huddle("train", "--workers", 3, "--steps", 5, "--compute", "0.1s", "--slow", "1:1000", "--deadline", 3)
        self.assertLess(time.monotonic() - begin, 50, "the run waited for the stuck worker")
        self.assertEqual(answer.returncode, 1)
        self.assertRegex(answer.stderr,
                         r"gave up after 3 s of waiting for an average with (worker \d \(at step 0\), )?"
                         r"worker 1 \(at step 0\).*--deadline")

    def test_an_interrupted_run_stops_soon_and_leaves_valid_files(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for extra in ([], ["--compute", "60s"], ["--engine", "threads:native=off"]):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                process = subprocess.Popen([program.PROGRAM, "train", "--workers", "4", "--steps", "1000000", "--out",
                                            str(self.folder / "out"), *extra],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                computes_long = "--compute" in extra
                self.await_steps(0 if computes_long else 5)
                asked = time.monotonic()
                process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                self.assertLess(time.monotonic() - asked, 20, "less than 2 s on a quiet machine; a step takes 60")
                self.assertEqual(process.returncode, 130, errors)
                self.assertIn(b"interrupted", errors)
                self.assertEqual(self.summary()["status"], "interrupted")
                self.assertGreaterEqual(len(self.steps()), 0 if computes_long else 5)

    def interrupt(self, *arguments, steps):
        """The standard errors of a run that is interrupted after so many lines of steps.jsonl."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        process = subprocess.Popen([program.PROGRAM, "train", "--workers", "4", "--steps", "1000000", "--quiet",
                                    "--out", str(self.folder / "out"), "--save", str(self.folder / "saved"),
                                    *arguments],
                                   stderr=subprocess.PIPE, text=True)
        self.await_steps(steps)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - asked, 20, "less than 5 s on a quiet machine")
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(self.summary()["status"], "interrupted")
        return errors

    def test_an_interrupted_run_saves_where_all_workers_are_at_one_step(self):
        saved = self.folder / "saved"
        for strategy in ("bsp", "local_sgd:tau=1000"):
            errors = self.interrupt("--strategy", strategy, "--compute", "1ms", "--slow", "2:4", steps=20)
            done = self.summary()["steps_done"]
            self.assertIn(f"checkpoint of step {done}", errors)
            self.assertIn(f"go on with: huddle train --resume {saved} --save {saved}", errors)
            self.assertEqual(json.loads((saved / "checkpoint.json").read_text())["step"], done)
            answer = huddle("train", "--resume", saved, "--steps", done + 1000, "--save", saved, "--quiet")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            shutil.rmtree(saved)

    def test_an_interrupted_run_ends_soon_also_where_nothing_can_be_saved(self):
        self.assertIn("no checkpoint was written; --save-every", self.interrupt("--compute", "60s", steps=0))
        errors = self.interrupt("--strategy", "p_reduce", "--compute", "1ms", steps=20)
        self.assertIn("the workers of p_reduce are never all at one step", errors)
        self.assertIn("no checkpoint was written", errors)


if __name__ == "__main__":
    program.main()
