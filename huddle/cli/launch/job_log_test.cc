#include "huddle/cli/launch/job_log.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

using Mode = JobLog::Mode;

struct Shown {
  std::string text;
  JobLog log;

  explicit Shown(Mode mode = Mode::lines)
      : log(4, mode, [this](std::string_view bytes) { text += bytes; }) {}
};

TEST(JobLog, PutsTheNumberInFrontOfWholeLines) {
  Shown shown;
  shown.log.add(2, "on", 0);
  shown.log.add(1, "other\n", 0);
  shown.log.add(0, "fir", 0);
  shown.log.add(2, "e\ntwo\nthr", 0);
  shown.log.add(0, "st\n\n", 0);
  EXPECT_EQ(shown.text, "[1] other\n[2] one\n[2] two\nfirst\n\n");
  shown.log.end(2, 0);
  shown.log.end(1, 0);
  EXPECT_EQ(shown.text, "[1] other\n[2] one\n[2] two\nfirst\n\n[2] thr\n");
}

TEST(JobLog, ShowsOnceWhatAllSay) {
  for (const bool is_worker_0_first : {true, false}) {
    Shown shown;
    if (is_worker_0_first) shown.log.add(0, "huddle: no such file\nsecond line\n", 0);
    for (const int worker : {3, 1, 2})
      shown.log.add(worker, "huddle: no such file\nsecond line\n", 0.1);
    if (!is_worker_0_first) shown.log.add(0, "huddle: no such file\nsecond line\n", 0.2);
    shown.log.show_all();
    EXPECT_EQ(shown.text, "huddle: no such file\nsecond line\n");
  }
}

TEST(JobLog, ShowsWhatOneSaysAfterAMoment) {
  Shown shown;
  shown.log.add(2, "huddle: lost\nbecause\n", 10);
  shown.log.add(1, "huddle: lost\n", 10.5);
  shown.log.show_due(10.9);
  EXPECT_EQ(shown.text, "");
  shown.log.show_due(11);
  EXPECT_EQ(shown.text, "[2] huddle: lost\n[2] because\n");
  shown.log.show_due(20);
  EXPECT_EQ(shown.text, "[2] huddle: lost\n[2] because\n");
  shown.log.add(2, "huddle: lost\n", 30);  // Once more, which is news.
  shown.log.show_all();
  EXPECT_EQ(shown.text, "[2] huddle: lost\n[2] because\n[2] huddle: lost\n");
}

TEST(JobLog, KeepsOrdinaryLinesThatAreAlike) {
  Shown shown;
  for (const int worker : {0, 1, 2, 1}) shown.log.add(worker, "tick\n", 0);
  EXPECT_EQ(shown.text, "tick\n[1] tick\n[2] tick\n[1] tick\n");
}

TEST(JobLog, LetsTheLineThatWorker0DrawsMakeWayOnATerminal) {
  Shown shown(Mode::terminal);
  shown.log.add(0, "\r1/9\x1b[K", 0);
  shown.log.add(0, "\r2/9\x1b[K", 0);
  shown.text.clear();
  shown.log.add(0, "", 0);
  EXPECT_EQ(shown.text, "");
  shown.log.add(1, "hello\n", 0);
  EXPECT_EQ(shown.text, "\r\x1b[K[1] hello\n\r2/9\x1b[K");
  shown.text.clear();
  shown.log.add(0, "\n", 0);
  shown.log.add(1, "hello\n", 0);
  EXPECT_EQ(shown.text, "\r\x1b[K\r2/9\x1b[K\n[1] hello\n");
}

TEST(JobLog, KeepsTheHalfLinesOfALogToThemselves) {
  Shown shown;
  shown.log.add(0, "step 1", 0);
  EXPECT_EQ(shown.text, "");
  shown.log.add(1, "hello\n", 0);
  shown.log.add(0, "/9\n", 0);
  EXPECT_EQ(shown.text, "[1] hello\nstep 1/9\n");
}

}  // namespace
}  // namespace huddle
