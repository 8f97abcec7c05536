#include "huddle/compare/expectation.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

ComparedRow row(const std::string& case_name, const std::string& label, double speedup,
                double accuracy) {
  ComparedRow row{.case_name = case_name, .label = label};
  row.speedups = {{.name = "bsp",
                   .label = "ring",
                   .of_step = {.value = speedup},
                   .target_label = "ring",
                   .to_target = {.value = 2 * speedup},
                   .points = {.value = 100 * (accuracy - 0.9)}}};
  return row;
}

const std::vector<ComparedRow> kRows = {
    row("near", "ring", 1, 0.9), row("near", "pairs", 1.5, 0.899), row("near", "grid", 1.2, 0.88),
    row("far", "ring", 1, 0.9),  row("far", "pairs", 4, 0.91),     row("far", "grid", 5, 0.895)};

Expectation pairs_and_grid() {
  return {.labels = {"pairs", "grid"}, .cases = {"near", "far"}, .over = "bsp", .at_least = 1.4};
}

TEST(Expectation, TakesTheBestStrategyInTheWorstCase) {
  const Verdict verdict = judge(pairs_and_grid(), kRows);
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.text, "pairs over bsp, near: 1.50x, at least 1.40x");
  Expectation more = pairs_and_grid();
  more.at_least = 1.6;
  EXPECT_FALSE(judge(more, kRows).holds);
}

TEST(Expectation, MayHoldInSomeCasesOnly) {
  Expectation somewhere = pairs_and_grid();
  somewhere.in = 1;
  somewhere.at_least = 5;
  EXPECT_TRUE(judge(somewhere, kRows).holds);
  EXPECT_EQ(judge(somewhere, kRows).text, "grid over bsp, far: 5.00x, at least 5.00x in 1 of 2");
  somewhere.in = 2;
  EXPECT_FALSE(judge(somewhere, kRows).holds);
  EXPECT_EQ(judge(somewhere, kRows).text, "pairs over bsp, near: 1.50x, at least 5.00x in 2 of 2");
  somewhere.in = 1;
  somewhere.of = Expectation::Of::speedup_to_target;
  EXPECT_EQ(judge(somewhere, kRows).text,
            "grid over bsp to the target, far: 10.00x, at least 5.00x in 1 of 2");
}

TEST(Expectation, TakesTheWorstAccuracy) {
  Expectation close = pairs_and_grid();
  close.of = Expectation::Of::accuracy_points;
  close.at_least = -0.5;
  EXPECT_FALSE(judge(close, kRows).holds);
  EXPECT_EQ(judge(close, kRows).text, "grid over bsp, near: -2.00 points, at least -0.50 points");
  close.labels = {"pairs"};
  EXPECT_TRUE(judge(close, kRows).holds);
}

TEST(Expectation, IsJudgedByTheIntervalWhereThereAreSeveralSeeds) {
  std::vector<ComparedRow> rows = kRows;
  for (ComparedRow& row : rows) {
    Speedup& speedup = row.speedups[0];
    const double times = *speedup.of_step.value;
    const double points = *speedup.points.value;
    speedup.of_step.interval = {times - 0.2, times + 0.2};
    speedup.points.interval = {points - 1, points + 1};
  }
  EXPECT_FALSE(judge(pairs_and_grid(), rows).holds) << "1.5 is more than 1.4, but 1.3 is not";
  EXPECT_EQ(judge(pairs_and_grid(), rows).text,
            "pairs over bsp, near: 1.50x (1.30 to 1.70), at least 1.40x");
  Expectation close = pairs_and_grid();
  close.labels = {"pairs"};
  close.of = Expectation::Of::accuracy_points;
  close.at_least = -0.5;
  EXPECT_EQ(judge(close, rows).text,
            "pairs over bsp, near: -0.10 points (-1.10 to +0.90), at least -0.50 points");
  EXPECT_FALSE(judge(close, rows).holds);
}

TEST(Expectation, DoesNotHoldByTheSeedsThatHappenedToEndWell) {
  std::vector<ComparedRow> rows = kRows;
  for (ComparedRow& row : rows) row.status = "diverged";
  EXPECT_FALSE(judge(pairs_and_grid(), rows).holds);
}

TEST(Expectation, DoesNotHoldWhereAFigureIsMissing) {
  std::vector<ComparedRow> rows = kRows;
  rows[1].speedups[0].of_step.value.reset();
  Expectation pairs = pairs_and_grid();
  pairs.labels = {"pairs"};
  EXPECT_FALSE(judge(pairs, rows).holds);
  EXPECT_EQ(judge(pairs, rows).text, "pairs over bsp, near: not known, at least 1.40x");
  rows[1].speedups[0].points.value.reset();
  Expectation close = pairs_and_grid();
  close.of = Expectation::Of::accuracy_points;
  EXPECT_FALSE(judge(close, rows).holds);
}

}  // namespace
}  // namespace huddle
