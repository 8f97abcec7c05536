"""`huddle launch`: its processes, their one log and one exit status, and that none is left behind.

Run: python3 tests/launch_test.py build/huddle

What it starts here is a script in place of `huddle`, by --program, which does what a test needs. The other machine of
some tests is this one, behind a script called ssh.
"""

import fcntl
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

import program
from program import TemporaryFolder, huddle

# What happens when each worker begins, in sh.
SAYS_WHO_IT_IS = ('echo "$HUDDLE_RANK $HUDDLE_WORKERS $HUDDLE_STORE $HUDDLE_TOKEN '
                  '$OMP_NUM_THREADS $UCX_TLS $UCX_NET_DEVICES $*"')
WAITS = 'echo here >&2; while :; do sleep 0.05 & wait $!; done'
ENDS_WELL_WHEN_ASKED = f'trap "echo asked >&2; exit 130" INT TERM; {WAITS}'
IS_DEAF = f'trap "echo asked >&2" INT TERM; {WAITS}'
# ssh -T -o BatchMode=yes HOST COMMAND, with HOST this machine. As with ssh, COMMAND outlives it, and its input ends.
IN_SSH = r'''#!/bin/sh
echo "ssh $4" >> "$SSH_LOG"
mkfifo "$SSH_LOG.$$"
exec 3<&0
cat <&3 > "$SSH_LOG.$$" &
sh -c "$5" 3<&- < "$SSH_LOG.$$"
status=$?
kill $!
exit $status
'''


def is_alive(process):
    """Not counting one that has ended, but nobody has asked how."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def asked_in(errors):
    """Without what sh says of the `sleep` that it was waiting for."""
    return sorted(line for line in errors.splitlines() if not line.endswith("Terminated"))


class Launching(TemporaryFolder):
    def script(self, text, name="worker"):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return path

    def arguments(self, workers, script, *options, command=("train",)):
        """Workers write their process number into the folder before anything else."""
        path = self.script(f'echo $$ > "{self.folder}/$HUDDLE_RANK.new"; '
                           f'mv "{self.folder}/$HUDDLE_RANK.new" "{self.folder}/$HUDDLE_RANK.pid"\n{script}')
        return ["launch", "-n", str(workers), "--program", str(path), *map(str, options), "--", *command]

    def launch(self, *arguments, **options):
        return huddle(*self.arguments(*arguments), **options)

    def begin(self, workers, script, *options, **how):
        """A job in the background, once all its workers run."""
        job = subprocess.Popen([program.PROGRAM, *self.arguments(workers, script, *options)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.await_here(job, workers)
        return job

    def await_here(self, job, workers):
        """Until every worker has said that it is here, which it does once it is ready for signals."""
        told = ""
        while told.count("here\n") < workers:
            line = job.stderr.readline()
            self.assertNotEqual(line, "", told)
            told += line
        return told

    def processes(self):
        return [int(path.read_text()) for path in sorted(self.folder.glob("*.pid"))]

    def assert_nobody_is_left(self):
        processes = self.processes()
        self.assertTrue(processes)
        deadline = time.monotonic() + 20
        while left := [each for each in processes if is_alive(each)]:
            self.assertLess(time.monotonic(), deadline, f"{left} of {processes} live on")
            time.sleep(0.02)


class Log(Launching):
    def test_lines_are_whole_with_the_number_in_front_but_of_worker_0(self):
        answer = self.launch(3, 'i=0; while [ $i -lt 100 ]; do printf "from $HUDDLE_RANK " >&2; echo "line $i" >&2; '
                                'i=$((i + 1)); done; echo "result of $HUDDLE_RANK"; printf "no end" >&2')
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout, "result of 0\n")
        lines = answer.stderr.splitlines()
        for worker, front in enumerate(("", "[1] ", "[2] ")):
            own = [line for line in lines if line.startswith(front) and (front or not line.startswith("["))]
            result = [f"[{worker}] result of {worker}"] if worker else []
            self.assertEqual(own, [f"{front}from {worker} line {i}" for i in range(100)] + result + [front + "no end"])

    def test_one_mistake_of_all_is_told_once(self):
        answer = huddle("launch", "-n", 3, "--", "train", "--steps", "0.5")
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertRegex(answer.stderr.replace("[1] ", "").replace("[2] ", ""),
                         r"^huddle: --steps: '0.5' is not a whole number .*\n$")

    def test_messages_that_differ_are_told_all(self):
        answer = self.launch(3, 'echo "huddle: I am $HUDDLE_RANK" >&2; exit 2')
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertEqual(sorted(answer.stderr.splitlines()),
                         ["[1] huddle: I am 1", "[2] huddle: I am 2", "huddle: I am 0"])

    def test_worker_0_draws_on_a_terminal_where_there_is_one(self):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 77, 0, 0))
        script = ('if [ $HUDDLE_RANK = 0 ]; then test -t 2 && printf "\\r1/9 $(stty size <&2)" >&2; '
                  'else test -t 2 || sleep 1; echo "no terminal" >&2; fi; sleep 2')
        job = subprocess.Popen([program.PROGRAM, *self.arguments(2, script)], stdout=theirs, stderr=theirs)
        os.close(theirs)
        told = b""
        try:
            while piece := os.read(ours, 4096):
                told += piece
        except OSError:  # Nobody has it open any more.
            pass
        os.close(ours)
        self.assertEqual(job.wait(), 0, told)
        self.assertEqual(told, b"\r1/9 31 77\r\x1b[K[1] no terminal\r\n\r1/9 31 77\r\x1b[K\r1/9 31 77\r\n")


class Environment(Launching):
    def test_workers_are_told_who_they_are_and_where_they_meet(self):
        tokens = set()
        for _ in range(2):
            answer = self.launch(3, SAYS_WHO_IT_IS, env={**os.environ, "HUDDLE_TOKEN": "of another job"})
            self.assertEqual(answer.returncode, 0, answer.stderr)
            told = [line.split() for line in (answer.stdout + answer.stderr).replace("[", "").splitlines()]
            told = sorted(words[-8:] for words in told)
            self.assertEqual([words[0] for words in told], ["0", "1", "2"])
            (rest,) = {tuple(words[1:]) for words in told}
            self.assertEqual((rest[0], *rest[3:]), ("3", "1", "sm,self", "lo", "train"))
            self.assertRegex(rest[1], r"^127\.0\.0\.1:\d+$")
            self.assertRegex(rest[2], r"^[0-9a-f]{32}$")
            tokens.add(rest[2])
        self.assertEqual(len(tokens), 2)

    def test_what_the_user_has_set_stays_and_words_arrive_as_they_are(self):
        command = ("train", "--strategy", "a b", "-n", "9", "--", "*")
        answer = huddle(*self.arguments(1, SAYS_WHO_IT_IS, command=command),
                        env={**os.environ, "OMP_NUM_THREADS": "7", "UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth9"})
        self.assertTrue(answer.stdout.endswith(" 7 tcp eth9 train --strategy a b -n 9 -- *\n"), answer.stdout)

    def test_the_store_listens_while_workers_run_at_the_address_that_is_asked_for(self):
        job = self.begin(1, f'echo "$HUDDLE_STORE"; {ENDS_WELL_WHEN_ASKED}', "--store-address", "127.0.0.3")
        host, port = job.stdout.readline().strip().split(":")
        self.assertEqual(host, "127.0.0.3")
        socket.create_connection((host, int(port)), timeout=20).close()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(port)), timeout=20)
        job.send_signal(signal.SIGINT)
        job.wait(timeout=60)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=20)


class Endings(Launching):
    def test_the_exit_status_is_that_of_worker_0_or_of_wrong_usage(self):
        for statuses, wanted, words in (
                ((0, 0, 0), 0, ""),
                ((0, 1, 0), 0, "huddle: worker 1 ended with exit status 1; the run finished without it.\n"),
                ((1, 0, 1), 1, ""),
                ((2, 2, 2), 2, ""),
                ((1, 0, 2), 2, ""),
                ((3, 0, 0), 1, "huddle: worker 0 ended with exit status 3.\n")):
            with self.subTest(statuses):
                answer = self.launch(3, f'set -- {" ".join(map(str, statuses))}; shift $HUDDLE_RANK; exit $1')
                self.assertEqual((answer.returncode, answer.stderr), (wanted, words))

    def test_a_killed_worker_is_told_and_the_others_finish(self):
        answer = self.launch(3, 'if [ $HUDDLE_RANK = 2 ]; then kill -9 $$; fi; sleep 1')
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stderr,
                         "huddle: worker 2 was killed by signal 9 (Killed); the run finished without it.\n")

    def test_whoever_is_left_without_a_purpose_is_ended(self):
        for reason, other, status in (("kill -9 $$", ENDS_WELL_WHEN_ASKED, 1), ("exit 2", ENDS_WELL_WHEN_ASKED, 2),
                                      ("exit 0", ENDS_WELL_WHEN_ASKED, 0), ("exit 1", IS_DEAF, 1)):
            with self.subTest(reason):
                begin = time.monotonic()
                answer = self.launch(3, f"if [ $HUDDLE_RANK = 0 ]; then {reason}; fi; {other}", "--grace", 0.2)
                self.assertLess(time.monotonic() - begin, 40, "about 6 s on a quiet machine")
                self.assertEqual(answer.returncode, status, answer.stderr)
                self.assertIn("huddle: workers 1, 2 did not end with the run and were stopped.\n", answer.stderr)
                self.assertNotIn("asked", answer.stderr)
                self.assert_nobody_is_left()

    def test_a_worker_that_is_refused_ends_the_job_also_if_it_is_not_worker_0(self):
        answer = self.launch(2, f'if [ $HUDDLE_RANK = 1 ]; then echo "huddle: no" >&2; exit 2; fi; {IS_DEAF}',
                             "--grace", 0)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertIn("[1] huddle: no\n", answer.stderr)

    def test_what_a_worker_has_started_ends_with_it(self):
        answer = self.launch(1, f'sleep 1000 2>/dev/null & echo $! > "{self.folder}/other.pid"')
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assert_nobody_is_left()


class Signals(Launching):
    def test_an_interrupt_is_passed_on_and_all_end_in_good_order(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            job = self.begin(3, ENDS_WELL_WHEN_ASKED)
            job.send_signal(number)
            _, errors = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 130, errors)
            self.assertEqual(asked_in(errors), ["[1] asked", "[2] asked", "asked"])
            self.assert_nobody_is_left()

    def test_a_job_that_finishes_all_the_same_has_finished(self):
        job = self.begin(2, f'trap "exit 0" INT; {WAITS}')
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, errors)

    def test_a_second_interrupt_ends_who_does_not_heed_the_first(self):
        job = self.begin(2, IS_DEAF)
        job.send_signal(signal.SIGINT)
        self.assertIn("asked", job.stderr.readline() + job.stderr.readline())
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 40, "5 s on a quiet machine, 45 without the second one")
        self.assertEqual(job.returncode, 130, errors)
        self.assert_nobody_is_left()

    def test_a_stopped_worker_is_killed_at_last(self):
        job = self.begin(2, ENDS_WELL_WHEN_ASKED)
        os.kill(self.processes()[1], signal.SIGSTOP)
        for _ in range(2):
            job.send_signal(signal.SIGINT)
            time.sleep(0.3)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, errors)
        self.assertIn("huddle: worker 1 did not end with the run and was stopped.\n", errors)
        self.assert_nobody_is_left()

    def test_nobody_is_left_when_launch_itself_is_killed(self):
        job = self.begin(3, IS_DEAF)
        job.kill()
        job.wait()
        self.assert_nobody_is_left()


class OtherMachines(Launching):
    def setUp(self):
        super().setUp()
        bin = self.folder / "bin"
        bin.mkdir()
        (bin / "ssh").write_text(IN_SSH)
        (bin / "ssh").chmod(0o755)
        self.hosts = self.folder / "hosts.txt"
        self.hosts.write_text("localhost\n127.0.0.2 slots=2  # Not a name of this machine, but it leads here.\n")
        self.environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "UCX_TLS": "tcp",
                            "SSH_LOG": str(self.folder / "ssh.log")}

    def test_workers_run_where_the_hosts_file_says(self):
        answer = self.launch(3, f'echo "$HUDDLE_RANK $HUDDLE_TOKEN $UCX_TLS ${{UCX_NET_DEVICES-any}} $PWD" >&2; '
                                f'tr "\\0" " " < /proc/$PPID/cmdline > "{self.folder}/$HUDDLE_RANK.parent"',
                             "--hosts", self.hosts, "--store-address", "127.0.0.1", env=self.environment)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual((self.folder / "ssh.log").read_text(), "ssh 127.0.0.2\n" * 2)
        told = sorted(re.sub(r"^\[\d\] ", "", line) for line in answer.stderr.splitlines())
        token = told[0].split()[1]
        self.assertRegex(token, "^[0-9a-f]{32}$")
        self.assertEqual(told, [f"{worker} {token} tcp any {os.getcwd()}" for worker in range(3)])
        for worker in range(3):
            self.assertNotIn(token, (self.folder / f"{worker}.parent").read_text())

    def test_signals_and_ends_are_passed_on(self):
        job = self.begin(3, ENDS_WELL_WHEN_ASKED, "--hosts", self.hosts, "--store-address", "127.0.0.1",
                         env=self.environment)
        job.send_signal(signal.SIGINT)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, errors)
        self.assertEqual(asked_in(errors), ["[1] asked", "[2] asked", "asked"])
        answer = self.launch(3, 'test $HUDDLE_RANK != 1 || kill -9 $$', "--hosts", self.hosts, "--store-address",
                             "127.0.0.1", env=self.environment)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("huddle: worker 1 was killed by signal 9 (Killed); the run finished without it.\n", answer.stderr)

    def test_nobody_is_left_when_launch_itself_is_killed(self):
        job = self.begin(3, IS_DEAF, "--hosts", self.hosts, "--store-address", "127.0.0.1", env=self.environment)
        job.kill()
        job.wait()
        self.assert_nobody_is_left()

    def test_a_machine_that_cannot_be_reached_is_told(self):
        (self.folder / "bin" / "ssh").write_text('#!/bin/sh\necho "ssh: no route to $4" >&2\nexit 255\n')
        answer = self.launch(3, "exit 0", "--hosts", self.hosts, "--store-address", "127.0.0.1", env=self.environment)
        self.assertIn("[1] ssh: no route to 127.0.0.2\n", answer.stderr)
        self.assertIn("huddle: worker 2 ended with exit status 255, which is what ssh says", answer.stderr)


class BadInput(TemporaryFolder):
    CASES = [
        ([], "-n"),
        (["-n", "0", "--", "train"], "'0' is not a whole number from 1 to 1024"),
        (["-n", "many", "--", "train"], "'many' is not a whole number"),
        (["--", "train"], "say how many workers"),
        (["-n", "4"], "say what to launch, after --"),
        (["-n", "4", "--"], "say what to launch, after --"),
        (["-n", "4", "--", "list", "strategies"], "unknown command to launch 'list'. Known: train"),
        (["-n", "4", "--", "tarin"], "did you mean 'train'"),
        (["-n", "4", "--", "--steps", "5"], "unknown command to launch '--steps'"),
        (["-n", "4", "train", "--steps", "5"], "unknown option --steps of huddle launch; what it is to run stands"),
        (["-n", "4", "--host", "x", "--", "train"], "did you mean --hosts"),
        (["-n", "4", "--hosts", "nowhere.txt", "--", "train"], "cannot read 'nowhere.txt'"),
        (["-n", "4", "--hosts", "three.txt", "--", "train"], "three.txt has 3 slots, but -n 4 needs 4"),
        (["-n", "4", "--hosts", "bad.txt", "--", "train"], "bad.txt:2: 'slots=0' is not slots=N"),
        (["-n", "2", "--program", "nowhere", "--", "train"], "is not a program that can be started here"),
        (["-n", "2", "--program", "", "--", "train"], "--program is empty"),
        (["-n", "2", "--store-address", "192.0.2.1", "--", "train"], "cannot listen at 192.0.2.1:0"),
        (["-n", "2", "--store-address", "0.0.0.0", "--", "train"], "0.0.0.0 is every address of this machine"),
        (["-n", "2", "--store-address", "localhost:x", "--", "train"], "is not HOST:PORT"),
        (["-n", "2", "--grace", "-1", "--", "train"], "--grace"),
        (["-n", "3", "--hosts", "away.txt", "--", "train"], "--store-address"),
    ]

    def test_bad_input_is_refused_with_status_2_before_anything_starts(self):
        (self.folder / "three.txt").write_text("localhost slots=3\n")
        (self.folder / "bad.txt").write_text("localhost\nnode1 slots=0\n")
        (self.folder / "away.txt").write_text("localhost\nno.such.host.invalid slots=2\n")
        for arguments, words in self.CASES:
            with self.subTest(arguments):
                answer = huddle("launch", *arguments, cwd=self.folder)
                self.assertEqual(answer.returncode, 2, answer.stderr)
                self.assertIn(words, answer.stderr)
                self.assertNotIn("[1]", answer.stderr)
                self.assertEqual(answer.stdout, "")

    def test_help_teaches(self):
        answer = huddle("launch", "--help")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        for words in ("huddle launch -n 4 -- train", "HUDDLE_RANK", "Exit status: 0", "slots=4"):
            self.assertIn(words, answer.stdout)


if __name__ == "__main__":
    program.main()
