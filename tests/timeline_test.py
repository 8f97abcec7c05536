"""Timelines as the program writes them: what the trace format demands, and that they tell what the summary tells.

Run: python3 tests/timeline_test.py build/huddle

`check_trace` knows the format from its description (Trace Event Format, phases X, C and M) and what Perfetto refuses
besides: slices of one track that overlap, a file that is not whole.
"""

import collections
import json
import pathlib
import signal
import subprocess
import time

import program
from program import TemporaryFolder, huddle

ROOT = pathlib.Path(__file__).resolve().parent.parent
RACKS = ROOT / "clusters" / "oversubscribed_racks.toml"
WORKERS, LINKS = 1, 2  # The processes of the trace.
NEEDED = {"X": {"dur"}, "C": {"args"}, "M": {"args"}}
NAMES = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index",
         "thread_sort_index": "sort_index"}


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def check_event(event):
    """Raises AssertionError unless the event has all that its phase needs, in the right types."""
    assert set(event) <= {"ph", "pid", "tid", "ts", "dur", "name", "args"}, event
    assert event["ph"] in NEEDED and NEEDED[event["ph"]] <= set(event), event
    assert type(event["pid"]) is int and type(event["tid"]) is int, event
    assert isinstance(event["name"], str) and event["name"], event
    assert isinstance(event.get("args", {}), dict), event
    if event["ph"] == "M":
        kind = NAMES[event["name"]]
        assert set(event["args"]) == {kind}, event
        assert isinstance(event["args"][kind], str if kind == "name" else int), event
        return
    assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0, event
    if event["ph"] == "X":
        assert isinstance(event["dur"], (int, float)) and event["dur"] >= 0, event
    if event["ph"] == "C":
        assert event["args"] and all(type(value) in (int, float) for value in event["args"].values()), event


def check_nesting(slices):
    """Slices of one track lie inside one another or apart, and stand in the order of time, the outer one first."""
    outer, last = [], 0
    for event in slices:
        begin = nanoseconds(event["ts"])
        end = begin + nanoseconds(event["dur"])
        assert begin >= last, f"not in order: {event}"
        last = begin
        while outer and outer[-1] <= begin:
            outer.pop()
        assert not outer or end <= outer[-1], f"overlaps the slice around it: {event}"
        outer.append(end)


class Trace:
    def __init__(self, path):
        whole = json.loads(pathlib.Path(path).read_text())
        assert set(whole) == {"traceEvents", "otherData"}, set(whole)
        self.about = whole["otherData"]
        self.slices = collections.defaultdict(list)    # By (process, thread), in the order of the file.
        self.counters = collections.defaultdict(list)  # By name: moments in seconds, and values.
        self.threads, self.processes = {}, {}
        for event in whole["traceEvents"]:
            check_event(event)
            track = (event["pid"], event["tid"])
            if event["ph"] == "X":
                self.slices[track].append(event)
            elif event["ph"] == "C":
                assert event["pid"] == LINKS, event
                self.counters[event["name"]].append((event["ts"] * 1e-6, *event["args"].values()))
            elif event["name"] == "thread_name":
                self.threads[track] = event["args"]["name"]
            elif event["name"] == "process_name":
                self.processes[event["pid"]] = event["args"]["name"]
        for track, slices in self.slices.items():
            assert track in self.threads and track[0] in self.processes, f"nameless: {track}"
            check_nesting(slices)
        for name, points in self.counters.items():
            times = [point[0] for point in points]
            assert times == sorted(set(times)), f"not in order: {name}"
            assert all(value >= 0 for _, value in points) and points[-1][1] == 0, f"never idle: {name}"

    def of(self, thread_name):
        return [event for track, name in self.threads.items() if name == thread_name for event in self.slices[track]]

    def seconds(self, worker, what):
        return sum(event["dur"] for event in self.of(f"worker {worker}") if event["name"].split()[0] == what) * 1e-6

    def carried(self, link):
        """Bytes: the area under the curve."""
        points = self.counters[link]
        return sum(value * (after - at) for (at, value), (after, _) in zip(points, points[1:]))


class Timeline(TemporaryFolder):
    def trace(self, *arguments):
        answer = huddle("train", "--quiet", "--replace", *arguments, "--out", self.folder / "out", "--timeline",
                        self.folder / "timeline.json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return Trace(self.folder / "timeline.json")

    def expect_the_summarys_times(self, trace):
        summary = self.summary()
        whole = summary["seconds"]
        for worker, times in enumerate(summary["time"]):
            for what in ("compute", "wait", "exchange"):
                self.assertAlmostEqual(trace.seconds(worker, what), times[what], delta=0.01 * whole,
                                       msg=f"worker {worker}: {what}")
            self.assertAlmostEqual(sum(trace.seconds(worker, what) for what in ("compute", "wait", "exchange")),
                                   sum(times[what] for what in ("compute", "wait", "exchange")), delta=0.01 * whole)
            steps = [event for event in trace.of(f"worker {worker}") if event["name"].startswith("step ")]
            self.assertEqual([step["args"]["step"] for step in steps], list(range(len(steps))))
            self.assertGreater(len(steps), 0, f"worker {worker}")
            for step, line in zip(steps, (line for line in self.steps() if line["worker"] == worker)):
                self.assertAlmostEqual(step["args"]["loss"], line["loss"], places=5)
                self.assertEqual(step["args"]["bytes"], line["bytes_sent"])

    def test_in_a_simulated_cluster_with_racks(self):
        for strategy in ("bsp", "sesgd", "overlap_local_sgd:tau=4", "p_reduce"):
            with self.subTest(strategy):
                trace = self.trace("--engine", "sim", "--cluster", RACKS, "--steps", 24, "--strategy", strategy)
                self.assertEqual(trace.processes, {WORKERS: "workers", LINKS: "links"})
                self.assertEqual((trace.about["strategy"], trace.about["engine"]), (strategy, "sim"))
                self.assertIn("virtual", trace.about["time"])
                self.expect_the_summarys_times(trace)
                self.expect_groups(trace)
                links = {link["name"]: link for link in self.summary()["links"]}
                self.assertLessEqual(set(trace.counters), set(links))
                for name, link in links.items():
                    if link["bytes"] > 0:
                        self.assertAlmostEqual(trace.carried(name) / link["bytes"], 1, delta=0.01, msg=name)
                        fastest = max(value for _, value in trace.counters[name])
                        self.assertLess(fastest, 1.01 * link["bytes_per_second"], name)
                self.assertIn("rack 0 out", trace.counters)
                hidden = sum(worker["hidden"] for worker in self.summary()["time"])
                in_flight = sum(event["dur"] for worker in range(16)
                                for event in trace.of(f"worker {worker} in flight"))
                self.assertEqual(in_flight > 0, hidden > 1e-6)
                if strategy.startswith("overlap"):
                    self.assertGreater(in_flight * 1e-6, 0.9 * hidden)

    def expect_groups(self, trace):
        """Exchanges name their group; the letters of groups that exist at once differ."""
        named = 0
        for worker in range(16):
            group = None
            for event in trace.of(f"worker {worker}"):
                if event["name"].startswith("step "):
                    group = event["args"]["group"]
                if event["name"].startswith("exchange "):
                    _, letters, members = event["name"].split(" ", 2)
                    self.assertEqual(letters, chr(ord("a") + int(group.replace("-", ",").split(",")[0])) + ":")
                    self.assertTrue(members == group or members.startswith(group[:10]), event)
                    named += 1
            for event in trace.of(f"worker {worker} in flight"):
                self.assertRegex(event["name"], r"^in flight [a-z]+: \d")
                named += 1
        self.assertGreater(named, 16)

    def test_on_threads_in_real_time_without_links(self):
        trace = self.trace("--workers", 3, "--steps", 60)
        self.assertEqual(trace.processes, {WORKERS: "workers"})
        self.assertFalse(trace.counters)
        self.assertEqual(trace.about["time"], "real")
        self.assertIn("none", trace.about["links"])
        self.expect_the_summarys_times(trace)

    def test_timing_alone_is_drawn_too_and_repeats(self):
        arguments = ("--engine", "sim", "--cluster", RACKS, "--steps", 8, "--timing-only", "--strategy",
                     "bsp:overlap=backward,buckets=4")
        trace = self.trace(*arguments)
        self.expect_the_summarys_times(trace)
        self.assertTrue(trace.of("worker 5 in flight"))
        first = (self.folder / "timeline.json").read_bytes()
        self.trace(*arguments)
        self.assertEqual((self.folder / "timeline.json").read_bytes(), first)

    def test_an_interrupted_or_killed_run_leaves_a_whole_file(self):
        for ending, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            file = self.folder / "timeline.json"
            process = subprocess.Popen([program.PROGRAM, "train", "--engine", "sim", "--workers", "4", "--steps",
                                        "1000000", "--timeline", str(file)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            log = self.folder / "timeline.json.log"
            while not (log.exists() and log.stat().st_size > 200_000) and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(ending)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, status)
            self.assertEqual(log.exists(), ending == signal.SIGKILL)
            if ending == signal.SIGKILL:
                self.assertFalse(Trace(file).of("worker 3"), "was drawn during the run")
                answer = huddle("timeline", file)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertFalse(log.exists())
                self.assertEqual(huddle("timeline", file).returncode, 2)
            whole = json.loads(file.read_text())
            self.assertGreater(len(whole["traceEvents"]), 1000)
            self.assertGreater(len(Trace(file).of("worker 3")), 100)
            file.unlink()

    def test_a_failed_run_leaves_a_whole_file(self):
        answer = huddle("train", "--workers", 4, "--steps", 50, "--kill", "2@20", "--timeline",
                        self.folder / "timeline.json")
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertGreaterEqual(len(Trace(self.folder / "timeline.json").of("worker 1")), 19 * 2)

    def test_a_file_that_cannot_be_written_is_refused_before_any_work(self):
        for file in ("/nowhere/timeline.json", str(self.folder), "/dev/full", ""):
            answer = huddle("train", "--steps", 1000000, "--timeline", file)
            self.assertEqual(answer.returncode, 2, answer.stderr)
            self.assertIn(file or "--timeline is empty", answer.stderr)

    def test_a_comparison_draws_every_run_also_those_that_were_done_before(self):
        scenario = self.folder / "scenario.toml"
        scenario.write_text('[workload]\nsteps = 20\n[cluster]\nworkers = 4\n[cluster.network]\nnic = "1Gbps"\n'
                            '[[strategy]]\nrun = "bsp"\n[[strategy]]\nrun = "sesgd"\n')
        arguments = ("compare", scenario, "--quiet", "--out", self.folder / "out")
        self.assertEqual(huddle(*arguments).returncode, 0)
        self.assertFalse(list(self.folder.glob("out/runs/**/timeline.json")))
        before = (self.folder / "out" / "results.json").read_text()
        answer = huddle(*arguments, "--timeline")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        files = sorted(self.folder.glob("out/runs/**/timeline.json"))
        self.assertEqual([file.parent for file in files],
                         [file.parent for file in sorted(self.folder.glob("out/runs/**/summary.json"))])
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            self.assertGreater(len(Trace(file).of("worker 3")), 20)
        drawn = files[0].stat().st_mtime_ns
        self.assertEqual(huddle(*arguments, "--timeline").returncode, 0)
        self.assertEqual(files[0].stat().st_mtime_ns, drawn, "was drawn again")
        self.assertEqual(json.loads(before)["runs"][0]["command"],
                         json.loads((self.folder / "out" / "results.json").read_text())["runs"][0]["command"])

    def test_a_refused_run_leaves_no_file(self):
        answer = huddle("train", "--strategy", "bspp", "--timeline", self.folder / "timeline.json")
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertFalse((self.folder / "timeline.json").exists())


if __name__ == "__main__":
    program.main()
