#include "huddle/report/runs_progress.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace huddle {
namespace {

// Collects what is shown, with a clock that stands still until it is moved.
class RunsProgressTest : public ::testing::Test {
 protected:
  ~RunsProgressTest() override {
    if (out_) std::fclose(out_);
    std::free(text_);
  }

  RunsProgress make(ProgressMode mode) {
    return {out_, mode, [this] { return now_; }};
  }

  std::string shown() {
    std::fflush(out_);
    return {text_, size_};
  }

  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* out_ = ::open_memstream(&text_, &size_);
  Seconds now_ = 0;
};

RunsState state(int done, std::vector<std::string> running = {"lan/bsp/1"}) {
  return {.done = done,
          .total = 4,
          .work_done = 10.0 * done,
          .work_total = 40,
          .running = std::move(running)};
}

TEST_F(RunsProgressTest, ALogTellsWhatHasEndedAndWhenTheRestWill) {
  {
    RunsProgress progress = make(ProgressMode::lines);
    progress.update(state(0));
    now_ = 5;
    progress.update(state(0, {"lan/sesgd/1"}));
    now_ = 10;
    progress.update(state(1));
    now_ = 10.5;
    progress.update(state(2));
    now_ = 40;
    progress.update(state(4, {}));
  }
  EXPECT_EQ(shown(),
            "0/4 runs    0 %  now lan/bsp/1\n"
            "1/4 runs   25 %  30.0 s left  now lan/bsp/1\n"
            "4/4 runs  100 %\n");
}

TEST_F(RunsProgressTest, TheLastStateIsShownHoweverSoonItComes) {
  {
    RunsProgress progress = make(ProgressMode::lines);
    progress.update(state(0));
    now_ = 0.1;
    progress.update(state(4, {}));
  }
  EXPECT_TRUE(shown().ends_with("4/4 runs  100 %\n")) << shown();
}

TEST_F(RunsProgressTest, WorkThatWasDoneBeforeSaysNothingAboutSpeed) {
  RunsProgress progress = make(ProgressMode::lines);
  progress.update(state(2));
  now_ = 10;
  progress.update(state(3));
  EXPECT_NE(shown().find("10.0 s left"), std::string::npos) << shown();
}

TEST_F(RunsProgressTest, ABarNamesAsManyAsFit) {
  {
    RunsProgress progress = make(ProgressMode::bar);
    progress.update(state(1, std::vector<std::string>(8, "a-long-case/a-long-strategy/1")));
  }
  EXPECT_NE(shown().find(" ...\x1b[K\n"), std::string::npos) << shown();
}

TEST_F(RunsProgressTest, QuietIsQuiet) {
  {
    RunsProgress progress = make(ProgressMode::quiet);
    progress.update(state(1));
  }
  EXPECT_EQ(shown(), "");
}

}  // namespace
}  // namespace huddle
