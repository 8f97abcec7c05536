"""Every wrong command line is refused: exit status 2, a message that names what is wrong, and nothing written.

Run: python3 tests/bad_input_test.py build/huddle
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass

import program

# What each case finds where it runs: these files, the folders `run`, `saved` and `comparison` that Huddle has written,
# an empty folder, and a pipe that nobody writes to.
FILES = {
    "precious.txt": "mine",
    "tiny.toml": '[workload]\nsteps = 2\n[cluster]\nworkers = 2\ncompute.step = "1ms"\n[[strategy]]\nrun = "bsp"\n',
    "lan.toml": "workers = 4\n",
    "idle.toml": '[workload]\nmomentum = 0.5\noptimizer = "adam"\n[cluster]\nworkers = 2\ncompute.step = "1ms"\n'
                 '[[strategy]]\nrun = "bsp"\n',
    "idle_run.toml": '[workload]\nbatch = 8\n[cluster]\nworkers = 2\ncompute.step = "1ms"\n'
                     '[[strategy]]\nrun = "bsp"\nworkload.data = "quadratic"\n',
    "lone.toml": '[workload]\nsteps = 2\n[cluster]\nworkers = 2\ncompute.step = "1ms"\n[[strategy]]\nrun = "bsp"\n',
    "foreign/summary.json": '{"what": "mine"}',
    "foreign/checkpoint.json": '{"what": "mine"}',
    "foreign/results.json": '{"what": "mine"}',
    "tensors/consensus.pt": "mine",
    "nothing/summary.json": "{}",
    "begun/steps.jsonl": '{"worker":0,"step":0,"progress":1}\n',
    "pipe.toml": '[workload]\nsteps = 2\n[cluster]\nfile = "pipe"\n[[strategy]]\nrun = "bsp"\n',
}


@dataclass
class Case:
    """A command line, and what the message must name."""

    command: str
    words: tuple

    def __init__(self, command, *words):
        self.command, self.words = command, words


NO_REGULAR_FILE = [
    Case("train --cluster pipe", "'pipe'", "a pipe, not a regular file"),
    Case("train --cluster /dev/zero", "'/dev/zero'", "a device"),
    Case("train --cluster folder", "'folder'", "a folder"),
    Case("train --cluster none.toml", "'none.toml'", "no such file"),
    Case("compare ./pipe", "pipe'", "a pipe"),
    Case("compare /dev/zero", "'/dev/zero'", "a device"),
    Case("compare none.toml", "'none.toml'", "no such file"),
    Case("compare pipe.toml", "pipe.toml:4", "'pipe'", "a pipe"),
    Case("train --data mnist --data-dir piped", "train-labels-idx1-ubyte'", "a pipe", "tools/fetch_data.py mnist"),
    Case("train --data mnist --data-dir none", "no such file", "tools/fetch_data.py mnist"),
    Case("train --resume piped", "checkpoint.json'", "a pipe", "--save"),
    Case("train --resume none", "checkpoint.json'", "no such file", "--save"),
    Case("train --resume piped_state --steps 9", "worker-1.pt'", "a pipe"),
    Case("report piped", "summary.json'", "a pipe"),
    Case("report piped_steps", "steps.jsonl'", "a pipe"),
    Case("report piped_results", "results.json'", "a pipe"),
    Case("report piped_comparison", "summary.json'", "a pipe"),
    Case("report precious.txt", "'precious.txt'"),
    Case("report none", "'none'"),
]

NO_SUCH_NUMBER = [
    # One value for each option; number_option_test.cc tries the others.
    *(Case(f"train {option} {value}", f"{option}: '{value}'", words, f"for example {option}")
      for option, value, words in (
          ("--workers", "99999999999", "a whole number from 1 to 10000000"),
          ("--steps", "0", "a whole number from 1 to 1000000000"),
          ("--epochs", "inf", "a number above 0 and at most 1000000000"),
          ("--batch", "-1", "a whole number from 1 to"),
          ("--accumulate", "x", "a whole number from 1 to"),
          ("--seed", "1.5", "a whole number from 0 to 9007199254740992"),
          ("--deadline", "nan", "a number above 0 and at most"),
          ("--lr", "-0.1", "a number above 0 and at most 1000000"),
          ("--lr", "0", "a number above 0 and at most 1000000"),
          ("--momentum", "1.5", "a number at least 0 and below 1"),
          ("--momentum", "1", "a number at least 0 and below 1"),
          ("--weight-decay", "nan", "a number from 0 to 1000"),
          ("--clip", "inf", "a number from 0 to"),
          ("--jitter", "-1", "a number from 0 to 100"),
          ("--swa-start", "-1", "a whole number from 0 to"),
          ("--swa-every", "-1", "a whole number from 0 to"),
          ("--save-every", "-1", "a whole number from 0 to"),
          ("--evaluate-every", "-1", "a whole number from 0 to"))),
    Case("compare tiny.toml --jobs 0", "--jobs: '0'", "from 1 to", "--jobs 2"),
    Case("compare tiny.toml --seeds 1,-2", "--seeds: '-2'", "from 0 to", "--seeds 1,2,3"),
    Case("compare tiny.toml --seeds 1,1", "--seeds", "twice"),
    Case("schedule ds_sync --workers 0", "--workers: '0'", "from 1 to", "--workers 8"),
    Case("schedule ds_sync:group=99999999999", "group='99999999999'", "from 0 to 1048576", "group=0"),
    Case("train --strategy local_sgd:tau=0", "tau='0'", "from 1 to", "for example tau="),
    Case("train --strategy bsp:buckets=99999999999", "buckets=", "from 0 to 1000", "for example buckets="),
    Case("train --model mlp:hidden=nan", "hidden='nan'", "from 1 to 1000000", "hidden=128"),
    Case("train --data quadratic:noise=-1", "noise='-1'", "from 0 to", "noise=0.1"),
    Case("train --schedule step:every=0", "every='0'", "from 1 to", "every=30"),
    Case("train --compute 1ms --slow 1:-2", "--slow 1:-2", "it must be from"),
    Case("train --compute 1ms --slow 9:2", "--slow 9:2", "worker 9"),
    Case("train --compute 1ms --slow 1.5:2", "--slow", "1.5"),
    Case("train --kill 9@3", "--kill 9@3", "worker 9"),
    Case("train --kill 1@3 --kill 1@5", "--kill", "worker 1 twice"),
    Case("train --bandwidth 0Gbps", "--bandwidth 0Gbps: ", "it must be at least", "10Gbps"),
    Case("train --latency -1ms", "--latency", "0.1ms"),
    Case("train --steps 10 --save new --save-every 11", "--save-every is 11", "10 steps"),
    Case("train --steps 10 --evaluate-every 11", "--evaluate-every is 11", "10 steps"),
    Case("train --steps 10 --kill 1@50", "--kill", "step 50", "step 5"),
    Case("train --steps 10 --schedule cosine:warmup=500", "--schedule cosine:warmup=500", "shorten"),
    Case("train --workers 4 --strategy p_reduce:group=9", "--strategy p_reduce:group=9", "4 workers"),
    Case("train --workers 4 --strategy bsp:balance=on", "--strategy bsp:balance=on", "'bsp' has no balance",
         "equal shares", "ad_psgd, p_reduce", "p_reduce:balance=on"),
    Case("train --workers 4 --strategy ds_sync:balance=on", "'ds_sync' has no balance", "equal shares", "p_reduce"),
    Case("train --workers 4 --strategy asp:balance=on,delay_scaled=on", "balance=on", "delay_scaled=on", "leave one"),
    Case("train --workers 4 --strategy p_reduce:group=2,balance=maybe", "balance", "'maybe'", "off, on"),
    Case("train --resume saved --epochs 0.01", "--steps or --epochs"),
]

# A model of bfloat16, which wire=bf16 is refused for, no command makes.
HIDDEN_AND_NARROW = [
    *(Case(f"train --workers 4 --strategy {strategy}", f"--strategy {strategy}", *words)
      for strategy, *words in (
          ("sesgd:hide=step,overlap=backward", "cannot hide any further", "leave overlap out"),
          ("ds_sync:hide=step,overlap=backward,buckets=4", "cannot hide any further", "leave overlap out"),
          ("sesgd:hide=step,payload=gradient", "one step late do not train", "use payload=model"),
          ("sesgd:hide=step,order=before", "after the local step", "order=after"),
          ("p_reduce:hide=step,weights=dynamic", "count alike", "add weights=constant"),
          ("p_reduce:hide=step,form=paper", "count alike", "add weights=constant"),
          ("p_reduce:hide=step,warmup=299", "never exchange anything", "--steps 301"),
          ("ds_sync:wire=int8,radices=4", "groups of 4", "or wire=bf16"),
          ("random_groups:wire=int8,group=4", "groups of 4", "random_groups:group=2"),
          ("p_reduce:wire=int8,group=4", "groups of 4", "p_reduce:group=2"),
          ("local_sgd:wire=int8", "wire", "float, bf16"),
          ("random_groups:balance=on", "'random_groups' has no balance", "equal shares", "p_reduce"),
          ("local_sgd:balance=on", "'local_sgd' has no balance", "equal shares", "p_reduce"))),
    *(Case(f"train --workers 4 --optimizer {optimizer} --strategy {strategy}", f"--strategy {strategy}",
           "second moments", "use slots_wire=bf16")
      for optimizer in ("adam", "adamw")
      for strategy in ("sesgd:slots=average,slots_wire=int8", "sesgd:slots=average,wire=int8")),
    Case("schedule sesgd:hide=step,overlap=backward", "cannot hide any further", "leave overlap out"),
    Case("schedule ds_sync:wire=int8 --workers 16", "groups of 4", "or wire=bf16"),
]

DOES_NOTHING = [
    *(Case(f"train {options}", options.split()[0], "would do nothing", *words) for options, *words in (
        ("--momentum 0.5 --optimizer adam", "--optimizer sgd", "adam"),
        ("--momentum 0.9 --optimizer adamw", "--optimizer sgd", "adamw"),
        ("--nesterov --optimizer adam", "--optimizer sgd"),
        ("--nesterov --momentum 0", "--momentum 0.9"),
        ("--batch 8 --data quadratic", "no samples"),
        ("--split skew:0.5 --data quadratic", "no samples"),
        ("--model cnn --data quadratic", "a model of its own"),
        ("--data-dir data", "digits is built in", "--data mnist"),
        ("--data-dir data --data quadratic", "quadratic is built in"),
        ("--swa-every 5", "--swa-start 200"),
        ("--save-every 5", "--save out/model"),
        ("--slow 1:2", "--compute 5ms"),
        ("--jitter 0.1", "--compute 5ms"))),
    *(Case(f"train --engine sim --timing-only --wire 1MB {options}", options.split()[0], "would do nothing",
           "--timing-only") for options in (
        "--data digits", "--data-dir data", "--lr 0.1", "--weight-decay 0.1", "--schedule cosine", "--swa-start 5")),
    Case("train --cluster lan.toml --racks 2x2", "--racks", "--cluster", "leave one"),
    Case("train --cluster lan.toml --latency 1ms", "--latency", "--cluster", "leave one"),
    Case("train --steps 5 --epochs 2", "--steps", "--epochs", "leave one"),
    Case("compare idle.toml", "idle.toml:3", "--momentum would do nothing", "adam"),
    Case("compare idle_run.toml", "idle_run.toml:", "--batch would do nothing", "no samples"),
]

OVERWRITES = [
    Case("train --steps 2 --timeline precious.txt", "--timeline precious.txt", "Huddle has not written"),
    Case("train --steps 2 --timeline precious.txt --replace", "--timeline precious.txt", "Huddle has not written"),
    Case("train --steps 2 --timeline pipe", "--timeline pipe", "Huddle has not written"),
    Case("train --steps 2 --timeline timeline.json", "--timeline timeline.json", "--replace"),
    Case("train --steps 2 --out new --timeline new/steps.jsonl", "--timeline new/steps.jsonl", "--out new"),
    Case("train --steps 2 --out new --save new/summary.json", "--save new/summary.json", "--out new"),
    Case("train --steps 2 --save new --timeline new/consensus.pt", "--timeline new/consensus.pt", "--save new"),
    Case("compare tiny.toml --out run", "--out run", "holds a run", "another folder"),
    Case("train --steps 2 --out run", "--out run", "summary.json", "--replace"),
    Case("train --steps 2 --out begun", "--out begun", "steps.jsonl", "--replace"),
    Case("train --steps 2 --out foreign", "--out foreign", "summary.json", "Huddle has not written"),
    Case("train --steps 2 --out foreign --replace", "--out foreign", "summary.json", "Huddle has not written"),
    Case("train --steps 2 --save saved", "--save saved", "holds a checkpoint already", "--resume", "--replace"),
    Case("train --steps 2 --save foreign --replace", "--save foreign", "checkpoint.json", "Huddle has not written"),
    Case("train --steps 2 --save tensors --replace", "--save tensors", "consensus.pt"),
    Case("train --resume saved --steps 9 --save saved --out other", "--out other", "--replace"),
    Case("train --steps 2 --replace", "--replace would do nothing", "--out"),
    Case("compare tiny.toml --out foreign", "--out foreign", "results.json", "Huddle has not written"),
    Case("compare tiny.toml --out foreign --replace", "--out foreign", "results.json", "Huddle has not written"),
    Case("compare lone.toml --out comparison", "--out comparison", "'tiny'", "--replace"),
    Case("report run --out precious.txt", "'precious.txt'", "Huddle has not written", "--out"),
    Case("report foreign_page", "report.html'", "Huddle has not written", "--out"),
    Case("report run --out /dev/null", "'/dev/null'", "--out"),
    Case("report run --out folder", "'folder'", "a folder"),
]

NOTHING_TO_REPORT = [
    Case("report nothing", "nothing/summary.json", "'strategy'", "'status'", "'time'", "huddle train --out"),
    Case("report run nothing", "nothing/summary.json", "'strategy'"),
    Case("report foreign", "foreign/results.json", "format"),
    Case("report folder", "'folder'", "results.json", "summary.json"),
]

WEAK_MESSAGES = [
    Case("", "train, compare, bench, launch, list, report, schedule, timeline", "huddle train --workers 8"),
    Case("trian", "unknown command 'trian'", "did you mean 'train'?"),
    Case("--wrokers 3", "unknown option --wrokers"),
    Case("train --worker 3", "unknown option --worker of huddle train", "did you mean --workers?"),
    Case("train extra", "'extra'", "huddle train"),
    Case("train --workers", "--workers needs a value", "for example --workers 4"),
    Case("train --racks", "--racks needs a value", "2x4"),
    Case("train --steps 2 --steps 3", "--steps is given 2 times"),
    Case("train --nesterov=5", "--nesterov takes no value"),
    Case("train --cluster=", "--cluster"),
    Case("train --engine gpu", "--engine gpu", "unknown engine 'gpu'", "threads"),
    Case("train --data minst", "--data minst", "did you mean 'mnist'?"),
    Case("report run --out=", "--out needs a value", "report.html"),
    Case("train --optimizer sdg", "did you mean 'sgd'?", "sgd, adam, adamw"),
    Case("list stategies", "'stategies'", "did you mean 'strategies'?"),
    Case("compare", "the scenario is missing", "huddle list scenarios"),
    Case("compare demmo", "'demmo'"),
    Case("report", "the DIR is missing", "huddle train --out"),
    Case("schedule", "the strategy is missing"),
]

CASES = (NO_REGULAR_FILE + NO_SUCH_NUMBER + HIDDEN_AND_NARROW + DOES_NOTHING + OVERWRITES + NOTHING_TO_REPORT
         + WEAK_MESSAGES)


def huddle(*arguments, cwd):
    return program.huddle(*arguments, cwd=cwd, stdin=subprocess.DEVNULL)


def contents(folder):
    """Of everything in it, by path: the bytes of files, the type of anything else."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else os.lstat(path).st_mode
            for path in folder.rglob("*")}


class BadInput(unittest.TestCase):
    def test_a_list_without_a_word_is_of_everything(self):
        answer = huddle("list", cwd=".")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        for word in ("strategies", "ds_sync", "models", "mlp", "data", "digits", "engines", "threads", "schedules",
                     "cosine", "scenarios"):
            self.assertIn(word, answer.stdout)

    @classmethod
    def setUpClass(cls):
        cls._temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._temporary.cleanup)
        cls.root = pathlib.Path(cls._temporary.name)
        cls.written = cls.root / "written"
        cls.written.mkdir()
        (cls.written / "tiny.toml").write_text(FILES["tiny.toml"])
        for command in ("train --steps 5 --quiet --workers 2 --out run --save saved --timeline timeline.json",
                        "train --steps 5 --quiet --workers 2 --out other --seed 2",
                        "compare tiny.toml --quiet --out comparison"):
            answer = huddle(*command.split(), cwd=cls.written)
            assert answer.returncode == 0, answer.stderr

    def prepare(self, folder):
        shutil.copytree(self.written, folder)
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "folder").mkdir()
        shutil.copytree(folder / "run", folder / "foreign_page")
        (folder / "foreign_page" / "report.html").write_text("mine")
        shutil.copytree(folder / "saved", folder / "piped_state")
        shutil.copytree(folder / "run", folder / "piped_steps")
        shutil.copytree(folder / "comparison", folder / "piped_comparison")
        for name in ("pipe", "piped/mnist/train-labels-idx1-ubyte", "piped/checkpoint.json", "piped/summary.json",
                     "piped_state/step-000005/worker-1.pt", "piped_steps/steps.jsonl", "piped_results/results.json",
                     "piped_comparison/runs/all/bsp/1/summary.json"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).unlink(missing_ok=True)
            os.mkfifo(folder / name)

    def try_one(self, number):
        case = CASES[number]
        folder = self.root / str(number)
        self.prepare(folder)
        before = contents(folder)
        try:
            answer = huddle(*case.command.split(), cwd=folder)
        except subprocess.TimeoutExpired:
            return ["it hangs"]
        wrong = [] if answer.returncode == 2 else [f"exit status {answer.returncode}"]
        wrong += [f"does not name {word!r}" for word in case.words if word not in answer.stderr]
        wrong += ["something was printed"] if answer.stdout else []
        after = contents(folder)
        wrong += [f"{path} was written" for path in sorted(set(before) | set(after))
                  if before.get(path) != after.get(path)]
        shutil.rmtree(folder)
        return [*wrong, answer.stderr] if wrong else []

    def test_is_refused_with_status_2_before_anything_is_written(self):
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 2)) as pool:
            for case, wrong in zip(CASES, pool.map(self.try_one, range(len(CASES)))):
                with self.subTest(case.command):
                    self.assertEqual(wrong, [])

    def test_what_is_huddles_own_is_replaced_when_it_is_given_up_or_gone_on_with(self):
        folder = self.root / "own"
        self.prepare(folder)
        for command in ("train --steps 3 --quiet --workers 2 --out run --save saved --timeline timeline.json --replace",
                        "train --resume saved --steps 6 --quiet --out run --save ./saved/",
                        "train --resume saved --steps 7 --quiet --out other --replace",
                        "compare tiny.toml --quiet --out comparison",
                        "compare lone.toml --quiet --out comparison --replace",
                        "report run", "report run", "report run other --out both.html"):
            with self.subTest(command):
                answer = huddle(*command.split(), cwd=folder)
                self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(json.loads((folder / "run" / "summary.json").read_text())["steps_done"], 6)
        self.assertEqual(json.loads((folder / "comparison" / "results.json").read_text())["scenario"]["name"], "lone")

    def test_an_interrupt_ends_preparations_at_once(self):
        # Its data takes seconds to make. Signals are looked after once they are blocked.
        process = subprocess.Popen([program.PROGRAM, "train", "--data", "quadratic:dimension=1000000", "--workers",
                                    "100", "--steps", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while f"SigBlk:\t{1 << (signal.SIGINT - 1) | 1 << (signal.SIGTERM - 1):016x}" not in status.read_text():
            self.assertLess(time.monotonic(), deadline, "signals are never blocked")
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn(b"before the run began", errors)


if __name__ == "__main__":
    program.main()
