"""The report's page in a real browser: charts are drawn, nothing complains, nothing hostile runs.

Run: python3 tests/report_page_test.py build/huddle

Skipped where no Chromium is installed (Debian: apt-get install --no-install-recommends chromium).
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import chromium
import report_fixture

PROGRAM = "build/huddle"
SKIPPED = 77  # What CTest takes for "skipped" (tests/CMakeLists.txt).

# Counts the canvases with something on them, and those without.
DRAWN = """(() => {
  const counts = {drawn: 0, blank: 0};
  for (const canvas of document.querySelectorAll("canvas")) {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4)
      if (pixels[i + 3] > 200) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    counts[colours.size >= 3 ? "drawn" : "blank"] += 1;
  }
  return counts;
})()"""


def huddle(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


def click(name):
    return f"document.getElementById({json.dumps(name)}).click()"


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        report_fixture.make_comparison(cls.folder / "comparison", steps=60)
        cls.browser = chromium.Chromium(chromium.find())
        cls.addClassCleanup(cls.browser.close)

    def report(self, *folders, name="page.html"):
        answer = huddle("report", *folders, "--out", self.folder / name)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return self.folder / name

    def text(self, selector="body"):
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def assert_sound(self, charts):
        counts = self.browser.run(DRAWN)
        self.assertEqual(counts["blank"], 0)
        self.assertGreaterEqual(counts["drawn"], charts)
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual(self.browser.run("document.documentElement.dataset.ready"), "true")

    def test_a_comparison_says_its_answer_and_draws_every_chart(self):
        page = self.report(self.folder / "comparison")
        self.assertLess(page.stat().st_size, 2_000_000)
        seconds = self.browser.open(page)
        self.assertLess(seconds, 60, "well under 2 s on a quiet machine")
        self.assertRegex(self.text("h1"), r"^sesgd reaches 95 % accuracy first in all 3 cases: "
                                          r"1\.\d+× to 6\.\d+× over ring, 4 buckets$")
        self.assertIn("over the best baseline", self.text("#details"))
        self.assert_sound(charts=1 + 3 + 5 + 1)
        self.assertEqual(self.browser.run("document.querySelectorAll('.picture svg').length"), 5)
        for words in ("16 workers", "Published claim", "✓ holds: sesgd over ring", "nothing overlaps",
                      "28,800", "0.5.0", "halving-doubling"):
            self.assertIn(words, self.text().replace("\u00a0", " "))
        self.assertNotIn("undefined", self.text())
        self.assertNotIn("NaN", self.text())

    def test_every_switch_redraws(self):
        self.browser.open(self.report(self.folder / "comparison"))
        for name in ("case: 5 ms", "axis: step", "baseline: best", "measure: step", "loss: test", "scale: logarithmic",
                     "chip: sesgd", "links of: sesgd", "colours: dark", "colours: light", "colours: auto",
                     "case: 0.1 ms"):
            self.browser.run(click(name))
            self.assert_sound(charts=10)
        self.browser.run(click("case: 5 ms"))
        self.assertIn("Over halving-doubling", self.text("main"))

    def test_colours_follow_the_reader_and_the_switch(self):
        page = self.report(self.folder / "comparison")
        paper = "getComputedStyle(document.body).backgroundColor"
        colours = {}
        for scheme in ("light", "dark"):
            self.browser.open(page, scheme=scheme)
            self.assert_sound(charts=10)
            colours[scheme] = self.browser.run(paper)
        self.assertNotEqual(colours["light"], colours["dark"])
        self.browser.run(click("colours: light"))
        self.assertEqual(self.browser.run(paper), colours["light"])
        self.browser.open(page, scheme="light")
        self.browser.run(click("colours: dark"))
        self.assertEqual(self.browser.run(paper), colours["dark"])

    def test_it_fits_a_phone(self):
        self.browser.open(self.report(self.folder / "comparison"), width=360, height=740)
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 360)
        self.assert_sound(charts=10)

    def test_a_hostile_scenario_runs_no_script(self):
        folder = self.folder / "hostile"
        report_fixture.make_comparison(folder, workers=4, steps=20, seeds=(1,), cases=("1 ms",),
                                       hostile=report_fixture.HOSTILE)
        page = self.report(folder)
        self.browser.open(page)
        self.assert_sound(charts=5)
        self.assertIn(report_fixture.HOSTILE, self.text())
        self.assertIsNone(self.browser.run("window.hacked ?? null"))
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)

    def test_who_is_exactly_as_fast_is_named(self):
        folder = self.folder / "tied"
        shutil.copytree(self.folder / "comparison", folder)
        results = json.loads((folder / "results.json").read_text())
        rows = {(row["case"], row["label"]): row for row in results["table"]}
        rows["1 ms", "ds_sync"]["time_to_target"] = rows["1 ms", "sesgd"]["time_to_target"]
        (folder / "results.json").write_text(json.dumps(results))
        self.browser.open(self.report(self.folder / "comparison"))
        self.assertNotIn("Exactly as fast", self.text("#details"))
        self.browser.open(self.report(folder))
        self.assertIn("Exactly as fast: sesgd (1 ms).", self.text("#details"))

    def test_the_policy_stops_a_script_that_got_into_the_markup(self):
        page = self.report(self.folder / "comparison", name="attacked.html")
        attack = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
        page.write_text(page.read_text().replace("<main", attack + "<main"))
        self.browser.open(page)
        self.assertIsNone(self.browser.run("window.hacked ?? null"))
        self.assertIn("Content Security Policy", " ".join(self.browser.complaints))

    def test_single_runs_of_any_engine(self):
        for name in ("bsp", "sesgd"):
            answer = huddle("train", "--workers", 4, "--steps", 20, "--quiet", "--strategy", name, "--out",
                            self.folder / name)
            self.assertEqual(answer.returncode, 0, answer.stderr)
        self.browser.open(self.report(self.folder / "bsp"))
        self.assertRegex(self.text("h1"), r"^bsp reached \d+\.\d % accuracy in ")
        self.assert_sound(charts=4)
        self.browser.open(self.report(self.folder / "bsp", self.folder / "sesgd"))
        self.assertIn("fastest", self.text("h1"))
        self.assert_sound(charts=6)

    def test_a_run_that_failed_is_shown_as_such(self):
        shutil.copytree(self.folder / "comparison" / "runs" / "1-ms" / "sesgd" / "1", self.folder / "failed")
        summary = json.loads((self.folder / "failed" / "summary.json").read_text())
        summary["status"] = "failed: worker 3 died"
        (self.folder / "failed" / "summary.json").write_text(json.dumps(summary))
        steps = (self.folder / "failed" / "steps.jsonl").read_text()
        (self.folder / "failed" / "steps.jsonl").write_text(steps[:len(steps) // 2])
        self.browser.open(self.report(self.folder / "failed"))
        self.assertIn("did not finish", self.text("h1"))
        self.assertIn("cut off", self.text("#troubles"))
        self.assert_sound(charts=4)

    def test_the_page_goes_beside_the_runs_and_bad_input_is_refused(self):
        answer = huddle("report", self.folder / "comparison")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(str(self.folder / "comparison" / "report.html"), answer.stdout)
        self.assertTrue((self.folder / "comparison" / "report.html").exists())
        (self.folder / "broken").mkdir()
        (self.folder / "broken" / "results.json").write_text("{")
        for arguments, part in ((["nowhere"], "no folder 'nowhere'"), ([self.folder], "neither"),
                                ([self.folder / "broken"], "not a whole JSON"), ([], "DIR"),
                                ([self.folder / "comparison", "--out", "/nowhere/x.html"], "cannot write")):
            answer = huddle("report", *arguments)
            self.assertEqual(answer.returncode, 2, f"{arguments}: {answer.stderr}")
            self.assertIn(part, answer.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PROGRAM = sys.argv.pop(1)
    if chromium.find() is None:
        print("skipped: no Chromium is installed (Debian: apt-get install --no-install-recommends chromium)")
        sys.exit(SKIPPED)
    unittest.main()
