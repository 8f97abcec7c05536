"""Runs that are saved, killed and resumed: the same bits, or a refusal that names what is wrong.

Run: python3 tests/resume_test.py build/huddle

Needs a Python with torch, because the weights are compared.
"""

import hashlib
import json

import program
from program import TemporaryFolder, huddle


class Resuming(TemporaryFolder):
    def weights(self, name):
        import torch
        return torch.load(self.folder / name / "consensus.pt")

    def test_a_resumed_run_gives_the_same_bits(self):
        common = ("--workers", 3, "--model", "cnn:channels=4", "--quiet", "--schedule", "step:every=25")
        # A hidden average is under way when the first half ends.
        for number, strategy in enumerate(("ds_sync", "sesgd:hide=step,wire=bf16")):
            whole, half, resumed = (f"{name}-{number}" for name in ("whole", "half", "resumed"))
            for steps, name in ((40, whole), (20, half)):
                answer = huddle("train", *common, "--strategy", strategy, "--steps", steps, "--save",
                                self.folder / name)
                self.assertEqual(answer.returncode, 0, answer.stderr)
            answer = huddle("train", "--resume", self.folder / half, "--steps", 40, "--save", self.folder / resumed,
                            "--quiet")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            for key, tensor in self.weights(whole).items():
                self.assertTrue(tensor.equal(self.weights(resumed)[key]), f"{strategy}: {key}")

    def test_a_killed_run_goes_on_from_its_last_whole_checkpoint(self):
        common = ("--workers", 2, "--steps", 60, "--quiet")
        self.assertEqual(huddle("train", *common, "--save", self.folder / "whole").returncode, 0)
        killed = huddle("train", *common, "--save", self.folder / "killed", "--save-every", 20, "--kill", "1@50")
        self.assertEqual(killed.returncode, 1)
        self.assertIn("worker 1 died at step 50", killed.stderr)
        answer = huddle("train", "--resume", self.folder / "killed", "--save", self.folder / "resumed", "--quiet")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        for key, tensor in self.weights("whole").items():
            self.assertTrue(tensor.equal(self.weights("resumed")[key]), key)

    def test_what_a_killed_process_leaves_is_its_own_when_it_goes_on(self):
        saved, out = self.folder / "saved", self.folder / "out"
        answer = huddle("train", "--workers", 2, "--steps", 5, "--save", saved, "--out", out, "--quiet")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        (out / "summary.json").unlink()  # Which is written last.
        answer = huddle("train", "--resume", saved, "--save", saved, "--out", out, "--steps", 9, "--quiet")
        self.assertEqual(answer.returncode, 0, answer.stderr)

    def refuse(self, *arguments, word, more=()):
        answer = huddle("train", *arguments)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        for each in (word, *more):
            self.assertIn(each, answer.stderr)

    def test_disagreeing_and_damaged_checkpoints_are_refused(self):
        saved = self.folder / "saved"
        self.assertEqual(huddle("train", "--workers", 2, "--steps", 5, "--save", saved, "--quiet").returncode, 0)
        self.refuse("--resume", saved, "--steps", 9, "--workers", 3, word="--workers 3 disagrees")
        self.refuse("--resume", saved, "--steps", 9, "--model", "cnn", word="--model cnn disagrees")
        self.refuse("--resume", saved, word="5 steps already")
        self.refuse("--save", saved, word="holds a checkpoint already")
        go_on = ("--resume", saved, "--steps", 9)
        state = saved / "step-000005" / "worker-1.pt"
        content = state.read_bytes()
        for damaged in (content[:len(content) // 2], (saved / "step-000005" / "worker-0.pt").read_bytes(),
                        content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]):
            state.write_bytes(damaged)
            self.refuse(*go_on, word="worker-1.pt is damaged")
        state.unlink()
        self.refuse(*go_on, word="worker-1.pt")
        state.write_bytes(content)
        self.assertEqual(huddle("train", *go_on, "--quiet").returncode, 0)

    def test_a_run_goes_on_by_the_method_that_it_began_with(self):
        saved = self.folder / "saved"
        run = ("--workers", 4, "--steps", 5, "--save", saved, "--quiet")
        go_on = ("--resume", saved, "--steps", 9)
        index = saved / "checkpoint.json"
        self.assertEqual(huddle("train", *run, "--strategy", "sesgd").returncode, 0)
        good = json.loads(index.read_text())
        ours = "sesgd:slots=average,slots_wire=int8,wire=bf16"
        self.assertEqual(good["settled"], ours)
        for strategy in ((), ("--strategy", "sesgd"), ("--strategy", ours)):
            answer = huddle("train", *go_on, *strategy, "--quiet")
            self.assertEqual(answer.returncode, 0, answer.stderr)
        self.refuse(*go_on, "--strategy", "sesgd:form=paper", word="disagrees")
        other = "sesgd:slots=keep,slots_wire=same,wire=bf16"
        index.write_text(json.dumps({**good, "settled": other}))
        self.refuse(*go_on, word=f"give --strategy {other}", more=(ours, str(index)))
        self.assertEqual(huddle("train", *go_on, "--strategy", other, "--quiet").returncode, 0)

    def test_a_checkpoint_from_before_defaults_changed_is_asked_for_its_form(self):
        for strategy in ("sesgd", "p_reduce", "bsp"):
            saved = self.folder / strategy
            run = ("--workers", 4, "--steps", 5, "--strategy", strategy, "--save", saved, "--quiet")
            go_on = ("--resume", saved, "--steps", 9, "--quiet")
            self.assertEqual(huddle("train", *run).returncode, 0)
            index = saved / "checkpoint.json"
            before = json.loads(index.read_text())
            del before["settled"]
            index.write_text(json.dumps(before))
            if strategy == "bsp":  # Which has one form.
                self.assertEqual(huddle("train", *go_on).returncode, 0)
                continue
            self.refuse(*go_on, word=f"--strategy {strategy}:form=paper", more=(f"{strategy}:form=ours", str(index)))
            self.refuse(*go_on, "--strategy", f"{strategy}:warmup=1", word="disagrees")
            for form in ("paper", "ours"):
                answer = huddle("train", *go_on, "--strategy", f"{strategy}:form={form}")
                self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_every_file_of_a_checkpoint_has_its_hash(self):
        saved = self.folder / "saved"
        self.assertEqual(huddle("train", "--workers", 2, "--steps", 5, "--save", saved, "--quiet").returncode, 0)
        files = json.loads((saved / "checkpoint.json").read_text())["files"]
        self.assertEqual([(each["file"], each["worker"], each["step"], each["format"]) for each in files],
                         [("step-000005/worker-0.pt", 0, 5, 1), ("step-000005/worker-1.pt", 1, 5, 1),
                          ("consensus.pt", None, 5, 1)])
        for each in files:
            self.assertEqual(each["sha256"], hashlib.sha256((saved / each["file"]).read_bytes()).hexdigest())

    def test_a_bad_setting_of_a_checkpoint_is_named(self):
        saved = self.folder / "saved"
        self.assertEqual(huddle("train", "--workers", 2, "--steps", 5, "--save", saved, "--quiet").returncode, 0)
        index = saved / "checkpoint.json"
        good = json.loads(index.read_text())
        for option, value, words in (("--batch", "3x", ("--batch = '3x'", "a whole number up to")),
                                     ("--batch", "99999999999999999999", ("--batch = '99999999999999999999'",)),
                                     ("--lr", "", ("--lr = ''", "a number, as 0.1")),
                                     ("--nesterov", "maybe", ("--nesterov = 'maybe'", "true or false")),
                                     ("--batch", 32, ("settings.--batch = 32", "a text")),
                                     ("--batch", "0", ("--batch: '0'",)),
                                     ("--strategy", "bps", ("'bps'", "bsp")),
                                     ("--workers", "3", ("--workers 3 and the files of 2",))):
            with self.subTest(option=option, value=value):
                index.write_text(json.dumps({**good, "settings": {**good["settings"], option: value}}))
                self.refuse("--resume", saved, "--steps", 9, word=str(index), more=words)


if __name__ == "__main__":
    program.main()
