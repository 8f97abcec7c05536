#include "huddle/compare/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/curve_point.h"

namespace huddle {
namespace {

ComparedRun run_of(const std::string& label, int seed, Seconds step,
                   const std::string& in = "lan") {
  ComparedRun run{.id = in + "/" + label + "/" + std::to_string(seed),
                  .case_name = in,
                  .label = label,
                  .strategy = label,
                  .seed = seed};
  run.outcome.status = "complete";
  run.outcome.seconds = step * 10;
  run.outcome.step_seconds = step;
  return run;
}

TEST(Comparison, TellsMeanAndSpreadOverTheSeeds) {
  const std::vector runs{run_of("a", 1, 0.1), run_of("a", 2, 0.3)};
  const auto rows = compare_runs(runs, std::vector<ComparedStrategy>{{.label = "a"}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].seeds, 2);
  EXPECT_DOUBLE_EQ(rows[0].step_seconds->mean, 0.2);
  EXPECT_DOUBLE_EQ(rows[0].step_seconds->deviation, std::sqrt(0.02));
  EXPECT_TRUE(rows[0].speedups.empty());
  EXPECT_FALSE(rows[0].time_to_target);
}

TEST(Comparison, ComparesWithTheFastestOfEachNameInTheSameCase) {
  const std::vector runs{run_of("ring", 1, 0.4),        run_of("tree", 1, 0.3),
                         run_of("pairs", 1, 0.1),       run_of("ring", 1, 0.5, "wan"),
                         run_of("tree", 1, 0.9, "wan"), run_of("pairs", 1, 0.25, "wan")};
  const std::vector<ComparedStrategy> strategies{{.label = "ring", .baselines = {"paper", "best"}},
                                                 {.label = "tree", .baselines = {"best"}},
                                                 {.label = "pairs", .baselines = {}}};
  const auto rows = compare_runs(runs, strategies);
  ASSERT_EQ(rows.size(), 6u);
  const std::vector<Speedup>& lan = rows[2].speedups;
  ASSERT_EQ(lan.size(), 2u);
  EXPECT_EQ(lan[0].name, "paper");
  EXPECT_EQ(lan[0].label, "ring");
  EXPECT_NEAR(*lan[0].of_step.value, 4, 1e-12);
  EXPECT_EQ(lan[1].label, "tree");
  EXPECT_NEAR(*lan[1].of_step.value, 3, 1e-12);
  EXPECT_FALSE(lan[1].to_target.value);
  EXPECT_EQ(rows[5].speedups[1].label, "ring");
  EXPECT_DOUBLE_EQ(*rows[5].speedups[1].of_step.value, 2);
  EXPECT_DOUBLE_EQ(*rows[0].speedups[0].of_step.value, 1) << "a yardstick over itself";
}

TEST(Comparison, AFailedRunCountsForNothingAndIsToldWithItsRow) {
  std::vector runs{run_of("a", 1, 0.1), run_of("a", 2, 100), run_of("b", 1, 1)};
  runs[1].outcome.status = "failed: worker 2 died";
  runs[2].outcome.status = "interrupted";
  const std::vector<ComparedStrategy> strategies{{.label = "a"},
                                                 {.label = "b", .baselines = {"x"}}};
  const auto rows = compare_runs(runs, strategies);
  EXPECT_EQ(rows[0].status, "failed: worker 2 died");
  EXPECT_EQ(rows[0].seeds, 1);
  EXPECT_DOUBLE_EQ(rows[0].step_seconds->mean, 0.1);
  EXPECT_EQ(rows[1].status, "interrupted");
  EXPECT_FALSE(rows[1].step_seconds);
  EXPECT_EQ(rows[0].speedups[0].label, "");
  EXPECT_FALSE(rows[0].speedups[0].of_step.value);
}

TEST(Comparison, TimeToTargetNeedsEverySeedToGetThere) {
  std::vector runs{run_of("a", 1, 0.1), run_of("a", 2, 0.1), run_of("b", 1, 0.1),
                   run_of("b", 2, 0.1)};
  runs[0].reached = {.time = 1, .bytes_per_worker = 10};
  runs[2].reached = {.time = 4};
  runs[3].reached = {.time = 6};
  const std::vector<ComparedStrategy> strategies{{.label = "a"},
                                                 {.label = "b", .baselines = {"b"}}};
  auto rows = compare_runs(runs, strategies);
  EXPECT_FALSE(rows[0].time_to_target);
  EXPECT_FALSE(rows[0].speedups[0].to_target.value);
  EXPECT_EQ(rows[0].reached, 1);
  EXPECT_DOUBLE_EQ(rows[1].time_to_target->mean, 5);
  runs[1].reached = {.time = 3, .must_form = true, .bytes_per_worker = 20};
  rows = compare_runs(runs, strategies);
  EXPECT_DOUBLE_EQ(rows[0].time_to_target->mean, 2);
  EXPECT_DOUBLE_EQ(*rows[0].bytes_to_target, 15);
  EXPECT_TRUE(rows[0].forms_at_target);
  EXPECT_EQ(rows[0].speedups[0].target_label, "b");
}

TEST(Comparison, ComparesEachSeedWithTheSameSeed) {
  // Seeds differ by a factor of ten, strategies by one of two: the latter is what is sure.
  std::vector runs{run_of("a", 1, 1), run_of("a", 2, 10), run_of("b", 1, 2), run_of("b", 2, 20)};
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].outcome.accuracy["consensus"] =
        i < 2 ? 0.8 + 0.1 * runs[i].seed : 0.79 + 0.1 * runs[i].seed;
  const std::vector<ComparedStrategy> strategies{{.label = "a"},
                                                 {.label = "b", .baselines = {"b"}}};
  const Speedup speedup = compare_runs(runs, strategies)[0].speedups[0];
  EXPECT_DOUBLE_EQ(*speedup.of_step.value, 2);
  ASSERT_TRUE(speedup.of_step.interval && speedup.points.interval);
  EXPECT_NEAR(speedup.of_step.interval->low, 2, 1e-9);
  EXPECT_NEAR(speedup.of_step.interval->high, 2, 1e-9);
  EXPECT_NEAR(*speedup.points.value, 1, 1e-9);
  EXPECT_NEAR(speedup.points.interval->low, 1, 1e-9);
  runs.erase(runs.begin() + 3);
  EXPECT_FALSE(compare_runs(runs, strategies)[0].speedups[0].of_step.interval) << "one pair alone";
}

TEST(Comparison, ATargetOverABaselineIsWorkedOutForEachCaseAndSeed) {
  std::vector runs{run_of("ring", 1, 1), run_of("ring", 2, 1), run_of("tree", 1, 1),
                   run_of("pairs", 1, 1), run_of("ring", 1, 1, "wan")};
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].outcome.accuracy["consensus"] = std::vector{0.8, 0.9, 0.82, 0.99, 0.5}[i];
  const std::vector<ComparedStrategy> strategies{{.label = "ring", .baselines = {"bsp"}},
                                                 {.label = "tree", .baselines = {"bsp"}},
                                                 {.label = "pairs", .baselines = {}}};
  const Target target{.baseline = "bsp", .below = 0.01};
  EXPECT_NEAR(target_for(target, "lan", 1, runs, strategies)->value, 0.81, 1e-12);
  EXPECT_NEAR(target_for(target, "lan", 2, runs, strategies)->value, 0.89, 1e-12);
  EXPECT_NEAR(target_for(target, "wan", 1, runs, strategies)->value, 0.49, 1e-12);
  EXPECT_FALSE(target_for(target, "moon", 1, runs, strategies));
  EXPECT_EQ(target_for({.value = 0.7}, "moon", 1, runs, strategies)->value, 0.7);
  for (ComparedRun& run : runs)
    run.target = target_for(target, run.case_name, run.seed, runs, strategies);
  EXPECT_NEAR(mean_target("lan", runs)->value, 0.85, 1e-12);
  EXPECT_FALSE(mean_target("moon", runs));
}

TEST(Comparison, ValuesOfOneRunMeetTheTimesOfAnother) {
  RunOutcome trained = run_of("a", 1, 0.1).outcome;
  trained.drift = 0.25;
  trained.curve = {point(1, 99, 0.5), point(2, 99, 0.6), point(3, 99, 0.7)};
  RunOutcome timed = run_of("a", 1, 7).outcome;
  timed.links = {{.name = "up", .bytes = 5, .full = 35, .bytes_per_second = 1}};
  const std::vector<Time> ends{0.5, 1.5};
  const RunOutcome both = joined_outcome(trained, timed, ends);
  EXPECT_EQ(both.drift, 0.25);
  EXPECT_EQ(both.step_seconds, 7);
  ASSERT_EQ(both.curve.size(), 2u) << "a step that was not timed has no time";
  EXPECT_EQ(both.curve[0].time, 0.5);
  EXPECT_EQ(both.curve[1].time, 1.5);
  EXPECT_EQ(both.curve[1].consensus.accuracy, 0.6);
  EXPECT_EQ(bottleneck_of(both)->link.name, "up");
  EXPECT_DOUBLE_EQ(bottleneck_of(both)->load, 0.5);
  trained.status = "failed: no data";
  EXPECT_EQ(joined_outcome(trained, timed, ends).status, "failed: no data");
  EXPECT_FALSE(joined_outcome(trained, timed, ends).step_seconds)
      << "it was trained as another model than it was timed";
}

TEST(Comparison, SharesOfTimeAreTakenOverAllWorkers) {
  ComparedRun run = run_of("a", 1, 1);
  run.outcome.time = {{.compute = 6, .wait = 2, .exchange = 0, .hidden = 4}, {.compute = 8}};
  const auto rows = compare_runs(std::vector{run}, std::vector<ComparedStrategy>{{.label = "a"}});
  EXPECT_DOUBLE_EQ(*rows[0].wait, 0.125);
  EXPECT_DOUBLE_EQ(*rows[0].exchange, 0);
  EXPECT_DOUBLE_EQ(*rows[0].hidden, 0.25);
}

TEST(Comparison, WhoIsHeardLeastIsToldWhereSharesDiffer) {
  ComparedRun run = run_of("a", 1, 1);
  const auto least = [&] {
    return compare_runs(std::vector{run}, std::vector<ComparedStrategy>{{.label = "a"}})[0]
        .least_heard;
  };
  EXPECT_FALSE(least());
  run.outcome.share_by_worker = {0.25, 0.25, 0.25, 0.25};
  EXPECT_FALSE(least());
  run.outcome.share_by_worker = {0.4, 0.3, 0.2, 0.1};
  EXPECT_DOUBLE_EQ(*least(), 0.4);
  run.outcome.rate_factor_by_worker = {0.5, 1, 1.25, 2.2};
  EXPECT_DOUBLE_EQ(*least(), 0.8);
}

}  // namespace
}  // namespace huddle
