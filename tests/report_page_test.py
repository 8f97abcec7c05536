"""The report's page in a real browser: charts are drawn, nothing complains, nothing hostile runs.

Run: python3 tests/report_page_test.py build/huddle

Skipped where no Chromium is installed (Debian: apt-get install --no-install-recommends chromium).
"""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import chromium
import program
import report_fixture
from program import huddle

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


# Every text that is cut off, leaves the page or lies on another. What scrolls in a box made for it is none of these.
MISPLACED = """(() => {
  const problems = [];
  const width = document.documentElement.clientWidth;
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const box = node.parentElement;
    if (!node.data.trim() || box.closest("script, noscript, title")) continue;
    if (box.closest("details:not([open])") && !box.closest("summary")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const isScrolled = box.closest("pre, .scroll") !== null;
    for (const {left, right, top, bottom} of range.getClientRects()) {
      if (right - left < 1 || bottom - top < 1) continue;
      const text = node.data.trim().slice(0, 40);
      if (!isScrolled && (left < -1 || right > width + 1)) problems.push(`off the page: ${text}`);
      for (let outer = box; outer && !isScrolled; outer = outer.parentElement) {
        const edge = outer.getBoundingClientRect();
        if (getComputedStyle(outer).overflowX !== "visible" && outer !== document.body
            && (right > edge.right + 1 || left < edge.left - 1)) problems.push(`cut off: ${text}`);
        if (outer.classList.contains("card")) {
          if (right > edge.right + 1 || left < edge.left - 1) problems.push(`out of its card: ${text}`);
          break;
        }
      }
      texts.push({left, right, top, bottom, text, node});
    }
  }
  texts.sort((a, b) => a.top - b.top);
  texts.forEach((a, i) => {
    for (let j = i + 1; j < texts.length && texts[j].top < a.bottom - 3; ++j) {
      const b = texts[j];
      if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
          && Math.min(a.bottom, b.bottom) - b.top > 5) problems.push(`overlap: ${a.text} / ${b.text}`);
    }
  });
  for (const box of document.querySelectorAll(".fits"))
    if (box.scrollWidth > box.clientWidth + 1) problems.push("a table is wider than its place");
  return [...new Set(problems)];
})()"""


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
        self.assertEqual(self.text("h1").split("\n"),
                         ["0.1 ms: sesgd, 2.00x.", "1 ms: sesgd, 2.00x.", "5 ms: sesgd, 2.00x."])
        self.assertIn("16 workers on 10 Gb/s", self.text("#words"))
        self.assertIn("spends 70 % of the time on the network", self.text("#why"))
        self.assertIn("over paper", self.text("#why"))
        self.assert_sound(charts=3 + 5)
        self.assertEqual(self.browser.run("document.querySelectorAll('.picture svg').length"), 5)
        for words in ("16 workers", "Published claim", "✓ holds: sesgd over ring", "nothing overlaps",
                      "28,800", "0.5.0", "halving-doubling"):
            self.assertIn(words, self.text().replace("\u00a0", " "))
        self.assertNotIn("undefined", self.text())
        self.assertNotIn("NaN", self.text())

    def test_every_switch_redraws(self):
        self.browser.open(self.report(self.folder / "comparison"))
        for name in ("case: 5 ms", "axis: step", "baseline: best", "measure: step", "loss: test", "scale: logarithmic",
                     "chip: sesgd", "zoom: all", "colours: dark", "colours: light", "colours: auto",
                     "case: 0.1 ms"):
            self.browser.run(click(name))
            self.assert_sound(charts=8)
        self.browser.run(click("case: 5 ms"))
        self.assertIn("Over halving-doubling", self.text("main"))

    def test_colours_follow_the_reader_and_the_switch(self):
        page = self.report(self.folder / "comparison")
        paper = "getComputedStyle(document.body).backgroundColor"
        colours = {}
        for scheme in ("light", "dark"):
            self.browser.open(page, scheme=scheme)
            self.assert_sound(charts=8)
            colours[scheme] = self.browser.run(paper)
        self.assertNotEqual(colours["light"], colours["dark"])
        self.browser.run(click("colours: light"))
        self.assertEqual(self.browser.run(paper), colours["light"])
        self.browser.open(page, scheme="light")
        self.browser.run(click("colours: dark"))
        self.assertEqual(self.browser.run(paper), colours["dark"])

    def test_nothing_is_cut_off_and_nothing_overlaps_at_any_width(self):
        for page in (self.report(self.folder / "comparison"), self.report(self.paces(), name="paces.html")):
            for width in (1400, 1000, 420):
                with self.subTest(page=page.name, width=width):
                    self.browser.open(page, width=width)
                    self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.browser.run(MISPLACED), [])
                    self.assert_sound(charts=2)

    def test_the_check_for_cut_off_text_finds_it(self):
        self.browser.open(self.report(self.folder / "comparison"), width=420)
        spoil = "document.querySelector('h2').style.cssText"
        for style in ("width: 30px; overflow: hidden; white-space: nowrap", "position: absolute; left: 400px",
                      "margin-bottom: -40px"):
            self.browser.run(f"{spoil} = {json.dumps(style)}")
            self.assertNotEqual(self.browser.run(MISPLACED), [], style)

    def paces(self):
        """A run of p_reduce in which worker 3 is slow: groups form on the way."""
        folder = self.folder / "paces"
        if not folder.exists():
            answer = huddle("train", "--engine", "sim", "--workers", 6, "--steps", 12, "--slow", "3:4", "--strategy",
                            "p_reduce:group=2", "--quiet", "--out", folder)
            self.assertEqual(answer.returncode, 0, answer.stderr)
        return folder

    def test_members_of_a_group_stand_in_one_row_whatever_their_pace(self):
        meetings = {}
        for line in map(json.loads, (self.paces() / "steps.jsonl").read_text().splitlines()):
            meetings.setdefault(line["meeting"], []).append(line)
        torn = [lines for lines in meetings.values() if len({line["step"] for line in lines}) > 1]
        self.assertGreater(len(torn), 3, "workers of different pace meet at different steps of their own")
        first = sorted(meetings.values(), key=lambda lines: lines[0]["end"])[:16]
        for lines in first:
            self.assertEqual({line["worker"] for line in lines}, set(lines[0]["group"]))
        self.browser.open(self.report(self.paces(), name="paces.html"))
        drawn = self.browser.run("[...document.querySelectorAll('.picture .group title')].map((e) => e.textContent)")
        self.assertEqual([title.split("workers, ")[1] for title in drawn],
                         [", ".join(map(str, lines[0]["group"])) for lines in first])
        self.assertIn("a row is one meeting", self.text("main"))

    def test_links_that_are_loaded_alike_are_one_bar_and_strategies_stand_side_by_side(self):
        self.browser.open(self.report(self.paces(), self.sesgd()))
        bars = self.browser.run("[...document.querySelectorAll('.bar-name')].map((e) => e.innerText).join('; ')")
        self.assertIn("sesgd: 12 links", bars)
        self.assertIn("p_reduce:group=2: ", bars)

    def sesgd(self):
        folder = self.folder / "pairs"
        answer = huddle("train", "--engine", "sim", "--workers", 6, "--steps", 12, "--slow", "3:4", "--quiet",
                        "--strategy", "sesgd", "--out", folder)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return folder

    def test_the_accuracy_shows_who_crosses_the_target_when(self):
        self.browser.open(self.report(self.folder / "comparison"))
        crossings = self.browser.run("[...document.querySelectorAll('.crossings li')].map((e) => e.innerText)")
        self.assertEqual(len(crossings), 5)
        self.assertRegex(crossings[0], r"(?s)^sesgd.*\d")
        self.browser.run(click("axis: step"))
        self.assertIn("24", self.text(".crossings"))

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
        self.assert_sound(charts=2)
        self.browser.open(self.report(self.folder / "bsp", self.folder / "sesgd"))
        self.assertRegex(self.text("h1"), r"^(sesgd, \d+\.\d\dx|nothing beats bsp|no clear winner .*)\.$")
        self.assert_sound(charts=3)

    def test_shares_of_steps_are_drawn_where_they_differ(self):
        for name in ("off", "on"):
            answer = huddle("train", "--workers", 4, "--compute", "2ms", "--slow", "3:5", "--steps", 40, "--quiet",
                            "--strategy", f"p_reduce:group=2,balance={name}", "--out", self.folder / f"shares_{name}")
            self.assertEqual(answer.returncode, 0, answer.stderr)
        self.browser.open(self.report(self.folder / "shares_off", self.folder / "shares_on"))
        self.assertIn("Who took the steps", self.text())
        self.assertIn("least heard", self.text())
        self.assert_sound(charts=1 + 2 + 2)

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
    if chromium.find() is None:
        print("skipped: no Chromium is installed (Debian: apt-get install --no-install-recommends chromium)")
        sys.exit(SKIPPED)
    program.main()
