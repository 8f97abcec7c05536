"""How tests run the program as users do: `huddle(...)`, a folder of their own, and the way to start them."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = "build/huddle"


def huddle(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False,
                          **options)


def environment_for_mpi():
    """Root, and more processes than cores, are nothing that a test should ask about."""
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1")


def options_of_training():
    return set(re.findall(r"(?m)^  (--[\w-]+)", huddle("train", "--help").stdout))


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.folder = pathlib.Path(self._temporary.name)

    def summary(self, name="out"):
        return json.loads((self.folder / name / "summary.json").read_text())

    def await_steps(self, count, name="out"):
        """Until the run in this folder has written so many lines of steps.jsonl; 0: the empty file."""
        deadline = time.monotonic() + 60
        path = self.folder / name / "steps.jsonl"
        while not path.exists() or path.read_bytes().count(b"\n") < count:
            self.assertLess(time.monotonic(), deadline, f"no {count} steps in a minute")
            time.sleep(0.05)

    def steps(self, name="out"):
        return [json.loads(line) for line in (self.folder / name / "steps.jsonl").read_text().splitlines()]


def main():
    """Of a file of tests: `python3 FILE [PROGRAM] [arguments of unittest]`."""
    global PROGRAM
    if len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
