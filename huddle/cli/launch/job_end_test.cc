#include "huddle/cli/launch/job_end.h"

#include <gtest/gtest.h>

#include <csignal>

namespace huddle {
namespace {

using Words = std::vector<std::string>;

TEST(JobEnd, IsThatOfWorker0) {
  EXPECT_EQ(exit_status_of({{{.worker = 1}, {.worker = 0}}}), 0);
  EXPECT_EQ(exit_status_of({{{.worker = 1, .signal = SIGKILL}, {.worker = 0}}}), 0);
  EXPECT_EQ(exit_status_of({{{.worker = 1}, {.worker = 0, .exit_status = 1}}}), 1);
  EXPECT_EQ(exit_status_of({{{.worker = 1}, {.worker = 0, .signal = SIGSEGV}}}), 1);
}

TEST(JobEnd, TellsWrongUsageOfAnyWorker) {
  EXPECT_EQ(exit_status_of({{{.worker = 0, .exit_status = 2}}}), 2);
  EXPECT_EQ(exit_status_of({{{.worker = 1, .exit_status = 2},
                             {.worker = 0, .exit_status = 130, .was_asked = true}}}),
            2);
  EXPECT_EQ(exit_status_of({{{.worker = 1, .exit_status = 127}, {.worker = 0, .exit_status = 1}}}),
            2);
}

TEST(JobEnd, TellsAnInterruptUnlessAllWasDone) {
  EXPECT_EQ(exit_status_of({{{.worker = 0, .exit_status = 130}}, true}), 130);
  EXPECT_EQ(exit_status_of({{{.worker = 0, .signal = SIGKILL}}, true}), 130);
  EXPECT_EQ(exit_status_of({{{.worker = 0}}, true}), 0);
  // Somebody has interrupted worker 0 itself.
  EXPECT_EQ(exit_status_of({{{.worker = 0, .exit_status = 130}}}), 130);
}

TEST(ClosingWords, NameWhoWasLostOnTheWay) {
  EXPECT_EQ(
      closing_words(
          {{{.worker = 2, .signal = SIGKILL}, {.worker = 1, .exit_status = 1}, {.worker = 0}}}),
      (Words{"worker 2 was killed by signal 9 (Killed); the run finished without it.",
             "worker 1 ended with exit status 1; the run finished without it."}));
  EXPECT_EQ(closing_words({{{.worker = 1}, {.worker = 0}}}), Words{});
}

TEST(ClosingWords, LeaveToWorkersWhatTheyHaveSaid) {
  EXPECT_EQ(closing_words({{{.worker = 2, .signal = SIGKILL},
                            {.worker = 1, .exit_status = 1},
                            {.worker = 0, .exit_status = 1}}}),
            Words{"worker 2 was killed by signal 9 (Killed)."});
  EXPECT_EQ(closing_words({{{.worker = 1, .exit_status = 2}, {.worker = 0, .exit_status = 2}}}),
            Words{});
  EXPECT_EQ(closing_words({{{.worker = 1, .exit_status = 255}, {.worker = 0, .exit_status = 2}}}),
            Words{"worker 1 ended with exit status 255, which is what ssh says when it fails."});
  EXPECT_EQ(closing_words({{{.worker = 0, .exit_status = 130}}, true}), Words{});
}

TEST(ClosingWords, NameWhoDidNotEndByItself) {
  EXPECT_EQ(closing_words({{{.worker = 0},
                            {.worker = 3, .signal = SIGKILL, .was_asked = true},
                            {.worker = 10, .signal = SIGKILL, .was_asked = true},
                            {.worker = 1, .exit_status = 130, .was_asked = true}}}),
            Words{"workers 1, 3, 10 did not end with the run and were stopped."});
  EXPECT_EQ(closing_words({{{.worker = 0, .exit_status = 130},
                            {.worker = 3, .signal = SIGKILL, .was_asked = true}},
                           true}),
            Words{"worker 3 did not end with the run and was stopped."});
}

}  // namespace
}  // namespace huddle
