#include "huddle/report/table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

using Lines = std::vector<std::string>;

std::string printed(const Summary& summary) {
  std::FILE* const file = std::tmpfile();
  print_summary(file, summary);
  std::rewind(file);
  std::string text;
  for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file))
    text += static_cast<char>(byte);
  std::fclose(file);
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Summary some_summary() {
  Summary summary;
  summary.strategy = "ds_sync:group=4";
  summary.engine = "threads";
  summary.model = "mlp";
  summary.parameters = 12345;
  summary.data = "digits";
  summary.split = "iid";
  summary.optimizer = "sgd";
  summary.workers = 2;
  summary.batch = 32;
  summary.steps = 1000;
  summary.steps_done = 1000;
  summary.steps_taken = 2000;
  summary.seconds = 72;
  summary.samples_per_second = 1234.4;
  summary.loss = 0.5;
  summary.consensus = Quality{.loss = 0.25, .accuracy = 0.875};
  summary.by_worker = {{.loss = 0.5, .accuracy = 0.75}, {.loss = 1.5, .accuracy = 0.25}};
  summary.drift = 0.125;
  summary.bytes_sent_per_worker = 1.2e6;
  summary.time = {{.compute = 2, .wait = 6, .exchange = 2, .hidden = 1},
                  {.compute = 8, .wait = 0, .exchange = 2, .hidden = 1}};
  return summary;
}

TEST(DisplayWidth, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("2 µs"), 4u);
  EXPECT_EQ(display_width("█░…"), 3u);
}

TEST(TextBar, FillsItsShare) {
  EXPECT_EQ(text_bar(0, 4), "░░░░");
  EXPECT_EQ(text_bar(0.5, 4), "██░░");
  EXPECT_EQ(text_bar(1, 4), "████");
  EXPECT_EQ(text_bar(0.5, 0), "");
}

TEST(TextBar, KeepsItsWidthForSharesOutOfRange) {
  EXPECT_EQ(text_bar(1e300, 3), "███");
  EXPECT_EQ(text_bar(-1, 3), "░░░");
  EXPECT_EQ(text_bar(kNoNumber, 3), "░░░");
}

TEST(Wrapped, CutsAtSpacesAndAfterCommas) {
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("a=1,b=2,c=3", 8), (Lines{"a=1,b=2,", "c=3"}));
  EXPECT_EQ(wrapped("fits", 4), (Lines{"fits"}));
}

TEST(Wrapped, KeepsALongWordWholeAndObeysNewlines) {
  EXPECT_EQ(wrapped("a incomprehensible b", 5), (Lines{"a", "incomprehensible", "b"}));
  EXPECT_EQ(wrapped("a\nb\n", 5), (Lines{"a", "b"}));
}

TEST(Wrapped, GivesOneLineForNothing) {
  EXPECT_EQ(wrapped("", 5), (Lines{""}));
  EXPECT_EQ(wrapped("   ", 5), (Lines{""}));
}

TEST(Table, AlignsColumnsByDisplayWidth) {
  Table table(
      {{"name", Table::Align::left}, {"time", Table::Align::right}, {"", Table::Align::left}});
  table.add_row({"bsp", "2 µs", "x"});
  table.add_row({"local_sgd", "12.5 ms", ""});
  EXPECT_EQ(table.text(),
            "name          time\n"
            "bsp           2 µs  x\n"
            "local_sgd  12.5 ms\n");
}

TEST(Table, HasNoHeaderLineWithoutHeaders) {
  Table table({{"", Table::Align::left}, {"", Table::Align::right}});
  EXPECT_EQ(table.text(), "");
  table.add_row({"a", "1"});
  EXPECT_EQ(table.text(), "a  1\n");
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table({{"a", Table::Align::left}});
  EXPECT_THROW(table.add_row({"1", "2"}), LogicError);
  EXPECT_THROW(table.add_row({}), LogicError);
}

TEST(PrintSummary, ShowsEveryFigure) {
  const std::string text = printed(some_summary());
  for (const char* const part :
       {"ds_sync:group=4", "threads", "2 (batch of 32 each)", "mlp (12,345 parameters)",
        "digits (iid)", "1 m 12 s", "1,234 samples/s", "0.5000", "87.50 % consensus",
        "50.00 % worker mean", "25.00 % worker min", "0.2500 consensus", "0.1250", "1.2 MB"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  EXPECT_TRUE(contains(text, "steps           1,000\n")) << text;
  EXPECT_FALSE(contains(text, "status")) << text;
  EXPECT_FALSE(contains(text, "lost")) << text;
}

TEST(PrintSummary, SharesOutTheTimeAndNamesTheSlowestWorker) {
  const std::string text = printed(some_summary());
  EXPECT_TRUE(contains(text, "mean of 2 workers")) << text;
  EXPECT_TRUE(contains(text, "compute   ███████████████░░░░░░░░░░░░░░░  50.0 %  5.0 s\n")) << text;
  EXPECT_TRUE(contains(text, "wait      █████████░░░░░░░░░░░░░░░░░░░░░  30.0 %  3.0 s\n")) << text;
  EXPECT_TRUE(contains(text, "exchange  ██████░░░░░░░░░░░░░░░░░░░░░░░░  20.0 %  2.0 s\n")) << text;
  EXPECT_TRUE(contains(text, "  10.0 %  1.0 s  beside compute\n")) << text;
  EXPECT_TRUE(contains(text, "Slowest: worker 1, computing for 8.0 s (mean 5.0 s).\n")) << text;
}

TEST(PrintSummary, LeavesOutWhatIsNotThere) {
  Summary summary = some_summary();
  summary.consensus.reset();
  summary.by_worker.clear();
  summary.drift.reset();
  summary.time = {{.compute = 1}};
  const std::string text = printed(summary);
  for (const char* const part :
       {"accuracy", "test loss", "drift", "hidden", "Slowest", "mean of 2"})
    EXPECT_FALSE(contains(text, part)) << part << "\n" << text;
  EXPECT_TRUE(contains(text, "100.0 %")) << text;
  summary.time = {{}, {}};
  EXPECT_FALSE(contains(printed(summary), "Where the time went"));
  summary.time.clear();
  EXPECT_FALSE(contains(printed(summary), "Where the time went"));
}

TEST(PrintSummary, LabelsTheAccuracyOfWorkersWithoutAConsensus) {
  Summary summary = some_summary();
  summary.consensus.reset();
  EXPECT_TRUE(contains(printed(summary), "\naccuracy        50.00 % worker mean"));
}

TEST(PrintSummary, CountsTheStepsOfAResumedRunItselfForTheTimeOfAStep) {
  Summary summary = some_summary();
  EXPECT_TRUE(contains(printed(summary), "\nstep time       72.0 ms\n")) << printed(summary);
  summary.steps_taken = 2 * 100;  // The first 900 were taken by another run.
  EXPECT_TRUE(contains(printed(summary), "\nstep time       720 ms\n")) << printed(summary);
  summary.steps_taken = 0;
  EXPECT_FALSE(contains(printed(summary), "step time"));
}

TEST(PrintSummary, TellsHowARunThatWentWrongEnded) {
  Summary summary = some_summary();
  summary.status = "interrupted";
  summary.steps_done = 400;
  summary.loss = -kNoNumber;
  summary.drift = kNoNumber;
  summary.lost = {"worker 1: killed at step 12"};
  const std::string text = printed(summary);
  EXPECT_TRUE(contains(text, "status          interrupted\n")) << text;
  EXPECT_TRUE(contains(text, "steps           400 of 1,000\n")) << text;
  EXPECT_TRUE(
      contains(text, "training loss   nan (diverged), mean of the last 50 steps of all workers\n"))
      << text;
  EXPECT_TRUE(contains(text, "drift           not finite\n")) << text;
  EXPECT_TRUE(contains(text, "lost            worker 1: killed at step 12\n")) << text;
}

TEST(PrintSummary, TellsWhatTheStrategyCountedButForSingleWorkers) {
  Summary summary = some_summary();
  summary.figures = {{"p_reduce.groups", 1200}, {"p_reduce.rho", 0.857}, {"p_reduce.share.3", 1}};
  const std::string text = printed(summary);
  EXPECT_TRUE(
      contains(text,
               "p_reduce        1,200 groups formed\n"
               "                0.857 of a disagreement (squared) survives a group on the\n"))
      << text;
}

TEST(PrintSummary, TellsSharesWhereWorkersTookUnequalOnes) {
  Summary summary = some_summary();
  summary.steps_by_worker = {50, 50};
  summary.rate_factor_by_worker = {1, 1};
  EXPECT_FALSE(contains(printed(summary), "shares"));
  summary.steps_by_worker = {75, 25};
  EXPECT_TRUE(contains(printed(summary),
                       "\nshares          25.0 % (worker 1) to 75.0 % (worker 0) of all steps\n"))
      << printed(summary);
  EXPECT_FALSE(contains(printed(summary), "balance"));
  summary.rate_factor_by_worker = {0.667, 2};
  EXPECT_TRUE(contains(printed(summary),
                       "\nbalance         learning rates scaled by 0.67 (worker 0) to 2.00 (worker "
                       "1)\n"))
      << printed(summary);
}

TEST(PrintSummary, StaysWithinEightyColumns) {
  Summary summary = some_summary();
  summary.status =
      "failed: " + std::string(30, 'x') + " " + std::string(30, 'y') + " " + std::string(30, 'z');
  summary.optimizer = "adamw";
  for (int key = 0; key < 30; ++key)
    summary.optimizer += (key == 0 ? ":key" : ",key") + std::to_string(key) + "=1";
  summary.lost = {std::string(50, 'l') + " " + std::string(50, 'm')};
  summary.time.assign(100'000, {.compute = 1e9, .wait = 1e9, .exchange = 1e9, .hidden = 1e9});
  std::istringstream lines(printed(summary));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 80u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

}  // namespace
}  // namespace huddle
