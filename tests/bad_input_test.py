"""Every wrong command line is refused: exit status 2, a message that names what is wrong, and nothing written.

Run: python3 tests/bad_input_test.py build/huddle
"""

import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass

import program_test

# What each case finds where it runs: these files, the folders `run`, `saved` and `comparison` that Huddle has written,
# an empty folder, and a pipe that nobody writes to.
FILES = {
    "precious.txt": "mine",
    "tiny.toml": '[workload]\nsteps = 2\n[cluster]\nworkers = 2\ncompute.step = "1ms"\n[[strategy]]\nrun = "bsp"\n',
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

CASES = NO_REGULAR_FILE


def huddle(*arguments, cwd):
    return subprocess.run([program_test.PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)


def contents(folder):
    """Of everything in it, by path: the bytes of files, the type of anything else."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else os.lstat(path).st_mode
            for path in folder.rglob("*")}


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._temporary.cleanup)
        cls.root = pathlib.Path(cls._temporary.name)
        cls.written = cls.root / "written"
        cls.written.mkdir()
        (cls.written / "tiny.toml").write_text(FILES["tiny.toml"])
        for command in ("train --steps 5 --quiet --workers 2 --out run --save saved --timeline timeline.json",
                        "compare tiny.toml --quiet --out comparison"):
            answer = huddle(*command.split(), cwd=cls.written)
            assert answer.returncode == 0, answer.stderr

    def prepare(self, folder):
        shutil.copytree(self.written, folder)
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "folder").mkdir()
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

    def test_an_interrupt_ends_preparations_at_once(self):
        # Its data takes seconds to make. Signals are looked after once they are blocked.
        process = subprocess.Popen([program_test.PROGRAM, "train", "--data", "quadratic:dimension=1000000", "--workers",
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
    if len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        program_test.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
