#include "huddle/report/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/report/table.h"

namespace huddle {
namespace {

class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(file_); }

  Progress::Clock clock() {
    return [this] { return now_; };
  }

  std::string written() const {
    std::rewind(file_);
    std::string text;
    for (int byte = std::fgetc(file_); byte != EOF; byte = std::fgetc(file_))
      text += static_cast<char>(byte);
    return text;
  }

  std::vector<std::string> lines() const {
    std::istringstream text(written());
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }

  long draws() const {
    const std::string text = written();
    return std::count(text.begin(), text.end(), '\r');
  }

  std::FILE* const file_ = std::tmpfile();
  Seconds now_ = 1000;
};

TEST_F(ProgressTest, ALineHasPatienceAndThenShowsTheLastState) {
  std::string text;
  for (const Seconds lasting : {1, 3}) {
    ProgressLine line(
        file_, ProgressMode::lines, clock(), [&](std::size_t) { return text; }, 2);
    for (const Seconds passed : {Seconds{0}, lasting}) {
      now_ += passed;
      text = std::to_string(lasting + passed);
      EXPECT_TRUE(line.update());
      line.renew();
      line.show_if_due();
    }
  }
  EXPECT_EQ(lines(), std::vector{std::to_string(6.0)}) << "one second is nothing to speak of";
}

TEST_F(ProgressTest, TakesAFileForALog) { EXPECT_EQ(progress_mode(file_), ProgressMode::lines); }

TEST_F(ProgressTest, WritesFirstAndLastLineAndAtMostOneEveryTwoSecondsBetween) {
  Progress progress(file_, 100, ProgressMode::lines, clock());
  for (int step = 1; step <= 100; ++step) {
    progress.update(step, 0.5);
    now_ += 1.0 / 16;
  }
  progress.finish();
  ASSERT_EQ(lines().size(), 5u) << written();  // At 0, 2, 4 and 6 seconds, and the last.
  EXPECT_TRUE(lines()[0].starts_with("step 1/100 ")) << written();
  EXPECT_TRUE(lines()[1].starts_with("step 33/100 ")) << written();
  EXPECT_TRUE(lines()[2].starts_with("step 65/100 ")) << written();
  EXPECT_TRUE(lines()[3].starts_with("step 97/100 ")) << written();
  EXPECT_TRUE(lines()[4].starts_with("step 100/100 ")) << written();
}

TEST_F(ProgressTest, ShowsShareSpeedLossAndTimeLeft) {
  Progress progress(file_, 200, ProgressMode::lines, clock());
  progress.update(0, 2.5);
  now_ += 10;
  progress.update(100, 0.312);
  EXPECT_EQ(lines(),
            (std::vector<std::string>{"step 0/200    0 %  loss 2.500",
                                      "step 100/200   50 %  10.0/s  loss 0.3120  10.0 s left"}));
}

TEST_F(ProgressTest, CountsSpeedFromTheFirstUpdateOfAResumedRun) {
  Progress progress(file_, 1000, ProgressMode::lines, clock());
  progress.update(500, 1);
  now_ += 10;
  progress.update(520, 1);
  EXPECT_NE(lines().at(1).find("  2.0/s  "), std::string::npos) << written();
  EXPECT_NE(lines().at(1).find("  4 m 0 s left"), std::string::npos) << written();
}

TEST_F(ProgressTest, DoesNotGoBackForAWorkerThatLags) {
  Progress progress(file_, 10, ProgressMode::lines, clock());
  progress.update(5, 0.5);
  now_ += 3;
  progress.update(4, 99);
  EXPECT_EQ(lines().size(), 1u) << written();
  progress.update(6, 0.25);
  EXPECT_EQ(lines().size(), 2u) << written();
  EXPECT_EQ(written().find("99"), std::string::npos) << written();
}

TEST_F(ProgressTest, TellsOfEvaluationsAfterTheSteps) {
  Progress progress(file_, 10, ProgressMode::lines, clock());
  progress.update(10, 1);
  now_ += 3;
  progress.evaluated(3, 40);
  EXPECT_EQ(lines().back(), "step 10/10  100 %  loss 1.000  evaluating 3/40");
}

TEST_F(ProgressTest, ShowsNoLossWhereNothingIsTrained) {
  Progress progress(file_, 10, ProgressMode::lines, clock());
  progress.update(10, std::nullopt);
  EXPECT_EQ(lines().back(), "step 10/10  100 %");
}

TEST_F(ProgressTest, ShowsALossThatDiverged) {
  Progress progress(file_, 10, ProgressMode::lines, clock());
  progress.update(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(written().find("loss nan"), std::string::npos) << written();
}

TEST_F(ProgressTest, FinishesOnceAndRepeatsNothing) {
  Progress progress(file_, 1, ProgressMode::lines, clock());
  progress.update(1, 0.5);
  progress.finish();
  progress.finish();
  now_ += 10;
  progress.update(1, 0.5);
  EXPECT_EQ(lines().size(), 1u) << written();
}

TEST_F(ProgressTest, WritesNothingWithoutAnUpdate) {
  { Progress progress(file_, 10, ProgressMode::bar, clock()); }
  { Progress progress(file_, 10, ProgressMode::lines, clock()); }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, WritesNothingWhenQuiet) {
  Progress progress(file_, 10, ProgressMode::quiet, clock());
  progress.update(10, 0.5);
  progress.finish();
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressTest, CopesWithNoStepsAndWithMoreThanAnnounced) {
  {
    Progress progress(file_, 0, ProgressMode::lines, clock());
    progress.update(0, 1);
  }
  Progress progress(file_, 10, ProgressMode::lines, clock());
  progress.update(11, 1);
  EXPECT_EQ(lines(), (std::vector<std::string>{"step 0/0  100 %  loss 1.000",
                                               "step 11/10  100 %  loss 1.000"}));
  EXPECT_THROW(Progress(file_, -1, ProgressMode::lines), LogicError);
}

TEST_F(ProgressTest, RedrawsTheBarAtMostTenTimesASecond) {
  Progress progress(file_, 1000, ProgressMode::bar, clock());
  for (int step = 1; step <= 1000; ++step) {
    progress.update(step, 0.5);
    now_ += 1.0 / 1024;
  }
  EXPECT_GE(draws(), 9);
  EXPECT_LE(draws(), 10);
  progress.finish();
  const std::string text = written();
  EXPECT_NE(text.rfind("1000/1000  100 %"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_TRUE(text.ends_with('\n')) << text;
}

TEST_F(ProgressTest, DrawsABarInProportion) {
  Progress progress(file_, 100, ProgressMode::bar, clock());
  progress.update(100 / 3, 0.5);
  EXPECT_EQ(written(), "\r███░░░░░░  33/100   33 %  loss 0.5000\x1b[K");
}

TEST_F(ProgressTest, EndsTheLineWhenARunIsUnwound) {
  try {
    Progress progress(file_, 100, ProgressMode::bar, clock());
    progress.update(1, 0.5);
    throw Error("lost");
  } catch (const Error&) {
  }
  EXPECT_TRUE(written().ends_with('\n'));
}

TEST_F(ProgressTest, TakesUpdatesFromManyThreads) {
  constexpr int kSteps = 2000;
  Progress progress(file_, kSteps, ProgressMode::lines, clock());
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < 4; ++worker)
      workers.emplace_back([&progress] {
        for (int step = 1; step <= kSteps; ++step) progress.update(step, 0.5);
      });
  }
  progress.finish();
  EXPECT_EQ(lines().size(), 2u) << written();
  EXPECT_TRUE(lines().back().starts_with("step 2000/2000  100 %")) << written();
}

// A terminal of a given width, and what was drawn on it.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) return;
    screen_ = std::fopen(::ptsname(master_), "w");
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (screen_ != nullptr) ::ioctl(::fileno(screen_), TIOCSWINSZ, &size);
  }

  ~Terminal() {
    if (screen_ != nullptr) std::fclose(screen_);
    if (master_ >= 0) ::close(master_);
  }

  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::FILE* screen() const { return screen_; }

  // What one draw put on the line, without its control characters.
  std::string line() const {
    char buffer[4096];
    const ssize_t count = ::read(master_, buffer, sizeof(buffer));
    const std::string text(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    const std::size_t escape = text.find('\x1b');
    return text.starts_with('\r') && escape != std::string::npos ? text.substr(1, escape - 1) : "?";
  }

 private:
  int master_ = -1;
  std::FILE* screen_ = nullptr;
};

TEST(ProgressOnTerminal, AdaptsToTheWidth) {
  for (const unsigned short columns : {1, 2, 11, 40, 41, 80, 200}) {
    const Terminal terminal(columns);
    if (terminal.screen() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
    EXPECT_EQ(progress_mode(terminal.screen()), ProgressMode::bar);
    Seconds now = 0;
    Progress progress(terminal.screen(), 100'000, ProgressMode::bar, [&now] { return now; });
    progress.update(1, 0.5);
    terminal.line();
    now = 100;
    progress.update(37'001, 0.5);
    const std::string line = terminal.line();
    EXPECT_LT(display_width(line), columns) << line;
    EXPECT_EQ(line.find("37001/100000") != std::string::npos, columns > 12) << line;
    EXPECT_EQ(line.find("█") != std::string::npos, columns > 40) << line;
    EXPECT_EQ(line.find(" left") != std::string::npos, columns >= 80) << line;
  }
}

TEST(ProgressOnTerminal, TakesEightyColumnsWhereTheTerminalDoesNotSay) {
  const Terminal terminal(0);
  if (terminal.screen() == nullptr) GTEST_SKIP() << "no pseudo-terminals here";
  Progress progress(terminal.screen(), 100, ProgressMode::bar, [] { return 0.0; });
  progress.update(100, 0.5);
  EXPECT_EQ(terminal.line(), "█████████  100/100  100 %  loss 0.5000");
}

}  // namespace
}  // namespace huddle
