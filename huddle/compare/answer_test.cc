#include "huddle/compare/answer.h"

#include <gtest/gtest.h>

#include "huddle/compare/accounts.h"
#include "huddle/compare/comparison_table.h"
#include "huddle/report/table.h"
#include "tests/support/curve_point.h"

namespace huddle {
namespace {

using Lines = std::vector<std::string>;

// Four workers that all take ten steps and, by their splits, as long as one another.
ComparedRun run_of(const std::string& in, const std::string& label, Seconds step,
                   const TimeSplit& share) {
  ComparedRun run{.case_name = in, .label = label, .strategy = label};
  run.outcome.status = "complete";
  run.outcome.seconds = step * 10;
  run.outcome.step_seconds = step;
  run.outcome.bytes_sent_per_worker = 1e6;
  run.outcome.steps_by_worker.assign(4, 10);
  const Seconds all = step * 10;
  run.outcome.time.assign(4, {.compute = all * share.compute,
                              .wait = all * share.wait,
                              .exchange = all * share.exchange,
                              .hidden = all * share.hidden});
  return run;
}

// Worker 2 computes `factor` times as long, and is blocked so much less.
void slow_down(ComparedRun& run, double factor) {
  TimeSplit& time = run.outcome.time[2];
  const Seconds more = time.compute * (factor - 1);
  time.compute += more;
  time.exchange -= more;
}

void add_link(ComparedRun& run, double busy_share) {
  run.outcome.links.push_back({.name = "worker 0 out", .busy = *run.outcome.seconds * busy_share});
}

Comparison comparison_of(std::vector<ComparedRun> runs, const std::vector<std::string>& cases,
                         std::optional<Target> target = {}) {
  Comparison all;
  all.target = target;
  std::vector<ComparedStrategy> strategies;
  for (const ComparedRun& run : runs)
    if (std::none_of(strategies.begin(), strategies.end(),
                     [&](const auto& known) { return known.label == run.label; }))
      strategies.push_back({.label = run.label});
  for (ComparedStrategy& strategy : strategies)
    if (strategy.label == "bsp") strategy.baselines = {"bsp"};
  for (const std::string& name : cases) all.cases.push_back({.name = name});
  all.runs = std::move(runs);
  for (ComparedRun& run : all.runs)
    if (target) run.reached = reach(*target, run.outcome.curve, ConsensusCost{});
  all.table = compare_runs(all.runs, strategies);
  return all;
}

const TimeSplit kBound{.compute = 0.25, .exchange = 0.75};

TEST(Answer, NamesEachCaseWithItsWinnerAndFactor) {
  const ComparisonAnswer answer = answer_of(
      comparison_of({run_of("equal", "bsp", 2, kBound), run_of("equal", "sesgd", 1, kBound),
                     run_of("slow", "bsp", 3, kBound), run_of("slow", "sesgd", 2.5, kBound),
                     run_of("slow", "p_reduce", 2, kBound)},
                    {"equal", "slow", "never run"}));
  EXPECT_EQ(answer.headline, (Lines{"Equal: sesgd, 2.00x.", "Slow: p_reduce, 1.50x."}));
  EXPECT_EQ(answer.measure, "Factors: time of a step, over bsp.");
  ASSERT_EQ(answer.cases.size(), 2u);
  EXPECT_EQ(answer.cases[1].winner, "p_reduce");
}

TEST(Answer, SaysWhyByTheFigures) {
  std::vector runs{run_of("", "bsp", 2, kBound),
                   run_of("", "overlap", 1, {.compute = 0.6, .exchange = 0.4, .hidden = 0.5})};
  add_link(runs[0], 0.7);
  runs[1].outcome.bytes_sent_per_worker = 0.5e6;
  const ComparisonAnswer answer = answer_of(comparison_of(runs, {""}));
  EXPECT_EQ(answer.headline, Lines{"overlap, 2.00x."});
  EXPECT_EQ(answer.cases[0].why,
            "bsp spends 75 % of the time on the network; overlap spends 40 % of the time in "
            "exchanges and hides 50 % behind computation: it sends 500 kB instead of 1.0 MB.");
}

TEST(Answer, NamesASlowWorkerWhereOthersAreBlockedLonger) {
  ComparedRun run = run_of("", "bsp", 1, kBound);
  slow_down(run, 3);
  const std::optional<Account> account = account_of({&run.outcome});
  ASSERT_TRUE(account);
  EXPECT_EQ(account->slowest, (std::vector<std::size_t>{2}));
  EXPECT_NEAR(account->waiting, 0.375, 1e-9) << "three of four lose half of the time";
  EXPECT_NEAR(account->waiting + account->exchanging + account->computing, 1, 1e-9);
  EXPECT_EQ(account_text(*account),
            "waits 38 % of the time for worker 2 and spends 25 % in exchanges");
}

TEST(Answer, NamesNobodyWhereTheFiguresDoNotShowIt) {
  const ComparedRun equal = run_of("", "bsp", 1, kBound);
  EXPECT_TRUE(account_of({&equal.outcome})->slowest.empty());
  // Who takes fewer steps also exchanges less: that is no wait of the others.
  ComparedRun own_pace = run_of("", "p_reduce", 1, kBound);
  slow_down(own_pace, 3);
  own_pace.outcome.steps_by_worker[2] = 5;
  EXPECT_TRUE(account_of({&own_pace.outcome})->slowest.empty());
  // A link that is always full is what everybody waits for.
  ComparedRun full = run_of("", "overlap", 1, kBound);
  slow_down(full, 3);
  add_link(full, 0.99);
  EXPECT_TRUE(account_of({&full.outcome})->slowest.empty());
  EXPECT_FALSE(account_of({})) << "no run, no account";
}

TEST(Answer, IsJudgedByTheTargetWhereThereIsOne) {
  std::vector runs{run_of("", "bsp", 2, kBound), run_of("", "far", 1, kBound),
                   run_of("", "near", 1.6, kBound), run_of("", "never", 0.1, kBound)};
  runs[0].outcome.curve = {point(5, 10, 0.9), point(10, 20, 0.99)};
  runs[1].outcome.curve = {point(10, 10, 0.91)};
  runs[2].outcome.curve = {point(5, 8, 0.9), point(9, 15, 0.97)};
  runs[3].outcome.curve = {point(10, 1, 0.5)};
  for (ComparedRun& run : runs)
    run.outcome.accuracy["consensus"] = run.outcome.curve.back().consensus.accuracy;
  const Target target{.of = Target::Of::accuracy, .value = 0.9};
  const ComparisonAnswer answer = answer_of(comparison_of(runs, {""}, target));
  EXPECT_EQ(answer.headline, Lines{"near, 1.25x."});
  EXPECT_EQ(answer.measure, "Factors: time to 90.0 % consensus accuracy, over bsp.");
  EXPECT_EQ(
      answer.cases[0].why,
      "bsp spends 75 % of the time in exchanges; near spends 75 % of the time in exchanges: "
      "its step is 1.25x as fast. The accuracy of near at the end is 2.0 points below that of bsp: "
      "97.0 % against 99.0 %.");
  runs.erase(runs.begin() + 2);
  EXPECT_EQ(answer_of(comparison_of(runs, {""}, target)).cases[0].result,
            "no clear winner (bsp and far, 1.00x)");
  runs[1].outcome.curve = {point(12, 11, 0.91)};
  const CaseAnswer beaten = answer_of(comparison_of(runs, {""}, target)).cases[0];
  EXPECT_EQ(beaten.result, "nothing beats bsp");
  EXPECT_TRUE(beaten.winner.empty());
  EXPECT_NE(beaten.why.find("; the next, far, spends"), std::string::npos) << beaten.why;
  EXPECT_NE(beaten.why.find("it takes 12 steps to the target instead of 5."), std::string::npos);
  for (ComparedRun& run : runs) run.outcome.curve.clear();
  EXPECT_EQ(answer_of(comparison_of(runs, {""}, target)).headline,
            Lines{"nobody reaches the target."});
}

TEST(Answer, CallsNobodyAWinnerWhomTheSeedsLeaveInDoubt) {
  std::vector<ComparedRun> runs;
  for (const int seed : {1, 2}) {
    runs.push_back(run_of("", "bsp", 2, kBound));
    runs.push_back(run_of("", "sesgd", seed == 1 ? 1 : 2.2, kBound));
    for (ComparedRun* run : {&runs[runs.size() - 2], &runs.back()}) run->seed = seed;
  }
  EXPECT_EQ(answer_of(comparison_of(runs, {""})).cases[0].result, "no clear winner (sesgd, 1.35x)");
  runs[3] = run_of("", "sesgd", 1, kBound);
  runs[3].seed = 2;
  EXPECT_EQ(answer_of(comparison_of(runs, {""})).cases[0].winner, "sesgd");
}

TEST(Answer, DoesNotJudgeAStrategyByTheSeedsThatHappenedToEndWell) {
  std::vector<ComparedRun> runs;
  for (const int seed : {1, 2}) {
    runs.push_back(run_of("", "bsp", 2, kBound));
    runs.push_back(run_of("", "sesgd", 1, kBound));
    for (ComparedRun* run : {&runs[runs.size() - 2], &runs.back()}) run->seed = seed;
  }
  runs[1].outcome.status = "diverged";
  const ComparisonAnswer answer = answer_of(comparison_of(runs, {""}));
  EXPECT_EQ(answer.cases[0].winner, "");
  EXPECT_EQ(answer.cases[0].result, "nothing beats bsp");
  EXPECT_NE(answer.cases[0].why.find("not all runs ended well: sesgd."), std::string::npos)
      << answer.cases[0].why;
}

// bsp, sesgd and p_reduce with two seeds each, p_reduce fastest.
std::vector<ComparedRun> with_two_seeds() {
  std::vector<ComparedRun> runs;
  for (const int seed : {1, 2})
    for (const auto& [label, step] :
         {std::pair("bsp", 3.0), std::pair("sesgd", 2.0), std::pair("p_reduce", 1.0)}) {
      runs.push_back(run_of("", label, step, kBound));
      runs.back().seed = seed;
      runs.back().outcome.curve = {point(10, 10 * step, 0.9)};
      runs.back().outcome.accuracy["consensus"] = 0.9;
    }
  return runs;
}

TEST(Answer, MeasuresNobodyByABaselineThatFailedWithSomeSeeds) {
  std::vector runs = with_two_seeds();
  runs[0].outcome.status = "diverged";
  Comparison comparison = comparison_of(runs, {""});
  EXPECT_FALSE(comparison.table[2].speedups[0].of_step.value);
  EXPECT_EQ(answer_of(comparison).cases[0].winner, "");
  EXPECT_EQ(answer_of(comparison).cases[0].result,
            "nothing to measure by: not all runs of bsp ended well");
  comparison.target = Target{.of = Target::Of::accuracy, .baseline = "bsp", .below = 0.003};
  EXPECT_EQ(answer_of(comparison).cases[0].result,
            "nothing to measure by: not all runs of bsp ended well")
      << "nobody knows who would have reached the target";
}

TEST(Answer, MeasuresNobodyByWhatIsLeftOfSeveralBaselines) {
  std::vector runs = with_two_seeds();
  for (ComparedRun& run : runs)
    if (run.label == "sesgd") run.outcome.status = run.seed == 1 ? "diverged" : "complete";
  const std::vector<ComparedStrategy> strategies{{.label = "bsp", .baselines = {"exact"}},
                                                 {.label = "sesgd", .baselines = {"exact"}},
                                                 {.label = "p_reduce"}};
  Comparison comparison = comparison_of(runs, {""});
  comparison.table = compare_runs(runs, strategies);
  EXPECT_EQ(answer_of(comparison).cases[0].winner, "") << "sesgd might have been the fastest";
  EXPECT_FALSE(target_for({.baseline = "exact", .below = 0.003}, "", 2, runs, strategies));
}

TEST(Answer, NamesAWinnerWhereTheBaselineWasNotAskedFor) {
  std::vector runs{run_of("near", "bsp", 2, kBound), run_of("near", "sesgd", 1, kBound),
                   run_of("far", "sesgd", 2, kBound), run_of("far", "p_reduce", 1, kBound)};
  EXPECT_EQ(answer_of(comparison_of(runs, {"near", "far"})).headline,
            (Lines{"Near: sesgd, 2.00x.", "Far: p_reduce."}));
}

TEST(Answer, JudgesCasesThatAreTimedOnlyByTheirSteps) {
  std::vector runs{run_of("trained", "bsp", 2, kBound), run_of("trained", "sesgd", 1, kBound),
                   run_of("timed", "bsp", 2, kBound), run_of("timed", "sesgd", 0.5, kBound)};
  for (const std::size_t i : {0u, 1u}) {
    runs[i].outcome.curve = {point(10, *runs[i].outcome.seconds, 0.9)};
    runs[i].outcome.accuracy["consensus"] = 0.9;
  }
  const Target target{.of = Target::Of::accuracy, .value = 0.9};
  EXPECT_EQ(answer_of(comparison_of(runs, {"trained", "timed"}, target)).headline,
            (Lines{"Trained: sesgd, 2.00x.", "Timed: sesgd, 4.00x (a step)."}));
}

TEST(Answer, SaysWhoMissesTheTargetAndWhoFallsBelowItAgain) {
  std::vector runs{run_of("", "bsp", 2, kBound), run_of("", "sesgd", 1, kBound)};
  runs[0].outcome.curve = {point(10, 20, 0.5)};
  runs[1].outcome.curve = {point(5, 5, 0.92), point(10, 10, 0.85)};
  runs[0].outcome.accuracy["consensus"] = 0.5;
  runs[1].outcome.accuracy["consensus"] = 0.85;
  const Target target{.of = Target::Of::accuracy, .value = 0.9};
  EXPECT_EQ(answer_of(comparison_of(runs, {""}, target)).cases[0].why,
            "Without the target: bsp. sesgd ends below the target that it reached: 85.0 % against "
            "90.0 %.");
}

TEST(Answer, SaysWhoseEndItMeans) {
  std::vector runs = with_two_seeds();
  for (const int i : {0, 1, 2}) runs[static_cast<std::size_t>(i)].outcome.status = "diverged";
  EXPECT_EQ(answer_of(comparison_of(runs, {""})).cases[0].result,
            "nobody came to an end with all seeds");
  runs = with_two_seeds();
  const Target target{.of = Target::Of::accuracy, .value = 0.9};
  for (const int i : {0, 1, 2}) runs[static_cast<std::size_t>(i)].outcome.curve = {};
  EXPECT_EQ(answer_of(comparison_of(runs, {""}, target)).cases[0].result,
            "nobody reaches the target with all seeds");
  for (ComparedRun& run : runs) run.outcome.curve = {};
  EXPECT_EQ(answer_of(comparison_of(runs, {""}, target)).cases[0].result,
            "nobody reaches the target");
}

TEST(Answer, HoldsAPriceAgainstWholeStrategiesOnly) {
  std::vector runs = with_two_seeds();
  for (ComparedRun& run : runs)
    run.outcome.accuracy["consensus"] = run.label == "sesgd" ? 0.99 : 0.9;
  const auto why = [&] { return answer_of(comparison_of(runs, {""})).cases[0].why; };
  EXPECT_NE(why().find("9.0 points below that of sesgd"), std::string::npos) << why();
  runs[1].outcome.status = "diverged";
  EXPECT_EQ(why().find("points below"), std::string::npos) << why();
}

TEST(Answer, CountsCasesWhereTheyAreTooManyForAHeadline) {
  std::vector<ComparedRun> runs;
  std::vector<std::string> cases;
  for (int i = 1; i <= 6; ++i) {
    cases.push_back(std::to_string(i) + " ms");
    runs.push_back(run_of(cases.back(), "bsp", 1, kBound));
    runs.push_back(run_of(cases.back(), "sesgd", i < 5 ? 1.0 / (i + 1) : 2, kBound));
  }
  EXPECT_EQ(
      answer_of(comparison_of(runs, cases)).headline,
      (Lines{"sesgd in 4 of 6 cases, 2.00x to 5.00x.", "Nothing beats bsp in 2 of 6 cases."}));
}

TEST(Answer, NamesWhoIsExactlyAsFastAndWhoFailed) {
  std::vector runs{run_of("", "bsp", 2, kBound), run_of("", "ds_sync", 1, kBound),
                   run_of("", "sesgd", 1, kBound)};
  EXPECT_EQ(answer_of(comparison_of(runs, {""})).headline, Lines{"ds_sync and sesgd, 2.00x."});
  for (ComparedRun& run : runs) run.outcome.status = "failed: no memory";
  EXPECT_EQ(answer_of(comparison_of(runs, {""})).headline, Lines{"no run came to an end."});
  EXPECT_EQ(answer_of(Comparison()).headline, Lines{});
}

TEST(ComparisonText, FitsAHundredColumnsUnlessItIsAskedForMore) {
  std::vector runs{run_of("", "bsp", 2, kBound),
                   run_of("", "overlap_local_sgd:tau=2,algorithm=halving_doubling", 1, kBound)};
  for (ComparedRun& run : runs) {
    run.outcome.accuracy = {{"consensus", 0.9}, {"worker_mean", 0.9}};
    run.outcome.drift = 0.1;
    run.outcome.links = {
        {.name = "the uplink of rack 2", .bytes = 9, .full = 3, .bytes_per_second = 3}};
  }
  const Comparison all = comparison_of(runs, {""});
  const auto widest = [](const std::string& text) {
    std::size_t most = 0;
    for (std::size_t from = 0, end = 0; from < text.size(); from = end + 1) {
      end = text.find('\n', from);
      most = std::max(most, display_width(text.substr(from, end - from)));
    }
    return most;
  };
  const std::string text = comparison_text(all);
  EXPECT_LE(widest(text), 100u);
  EXPECT_NE(text.find("With --wide there is more: bottleneck"), std::string::npos) << text;
  const std::string wide = comparison_text(all, Columns::all);
  EXPECT_GT(widest(wide), 100u);
  EXPECT_NE(wide.find("the uplink of rack 2"), std::string::npos);
  for (const std::string& each : {text, wide})
    EXPECT_NE(each.find("\noverlap_local_sgd:tau=2,algorithm=halving_doubling, 2.00x.\n"),
              std::string::npos)
        << each;
}

}  // namespace
}  // namespace huddle
