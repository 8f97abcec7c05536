#include "huddle/compare/scenario/comparison_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "huddle/base/text.h"

namespace huddle {
namespace {

ScenarioCase case_of(const std::string& name, int workers = 8, double wire_bytes = 1e8) {
  ScenarioCase one{
      .name = name, .workload = {{"data", "digits"}, {"steps", "80"}}, .seeds = {1, 2}};
  one.cluster.workers = workers;
  one.cluster.wire_bytes = wire_bytes;
  return one;
}

Scenario scenario_of(std::vector<ScenarioCase> cases, const std::vector<std::string>& strategies) {
  Scenario scenario{.cases = std::move(cases)};
  std::vector<std::string> names;
  for (const ScenarioCase& one : scenario.cases) names.push_back(one.name);
  for (const std::string& run : strategies)
    scenario.strategies.push_back({.label = run, .run = run, .cases = names});
  return scenario;
}

ComparisonPlan plan(const Scenario& scenario, PlanRules rules = {}) {
  rules.keys_of_values = {"batch", "data", "evaluate_every", "holdout", "lr", "model", "nesterov"};
  rules.keys_of_length = {"accumulate", "epochs"};
  rules.has_own_pace = [](const std::string& strategy) { return strategy.starts_with("asp"); };
  rules.values_of = [](const std::string& strategy, const Cluster&) {
    return strategy.substr(0, strategy.find(":buckets"));
  };
  return plan_comparison(scenario, rules);
}

bool has(const PlannedRun& run, const std::string& word) {
  return std::find(run.arguments.begin(), run.arguments.end(), word) != run.arguments.end();
}

TEST(ComparisonPlan, TrainsOnceForASeedAndTimesEveryCase) {
  const ComparisonPlan planned = plan(scenario_of({case_of("1 ms"), case_of("5 ms")}, {"bsp"}));
  ASSERT_EQ(planned.trainings.size(), 2u);
  ASSERT_EQ(planned.runs.size(), 4u);
  EXPECT_EQ(planned.trainings[1].id, "trained/1-ms/bsp/2");
  EXPECT_TRUE(has(planned.trainings[1], "--data"));
  EXPECT_FALSE(has(planned.trainings[1], "--wire"));
  EXPECT_FALSE(has(planned.trainings[1], "--timing-only"));
  EXPECT_EQ(planned.runs[3].id, "5-ms/bsp/2");
  EXPECT_EQ(planned.runs[3].trained_in, 1u);
  EXPECT_EQ(joined(planned.runs[3].arguments, " "),
            "train --engine sim --cluster cases/5-ms.toml --strategy bsp --steps 80 --timing-only "
            "--seed 2 --out runs/5-ms/bsp/2 --quiet");
}

TEST(ComparisonPlan, TimesOnceForAllSeedsUnlessSomethingIsRandom) {
  ScenarioCase random = case_of("random");
  random.cluster.jitter = 0.1;
  const ComparisonPlan planned = plan(scenario_of({case_of("sure"), random}, {"bsp"}));
  ASSERT_EQ(planned.runs.size(), 4u);
  EXPECT_FALSE(planned.runs[0].timed_in);
  EXPECT_EQ(planned.runs[1].timed_in, 0u);
  EXPECT_EQ(planned.timed(planned.runs[1]).id, "sure/bsp/1");
  EXPECT_FALSE(planned.runs[2].timed_in);
  EXPECT_FALSE(planned.runs[3].timed_in);
}

TEST(ComparisonPlan, TrainsAnewWhereTheValuesDiffer) {
  ScenarioCase skewed = case_of("skewed");
  skewed.workload["split"] = "skew:0.64";
  ScenarioCase racks = case_of("racks");
  racks.cluster.topology = in_racks({4, 4});
  Scenario scenario =
      scenario_of({case_of("iid"), skewed, case_of("16", 16), racks, case_of("same")}, {"bsp"});
  EXPECT_EQ(plan(scenario).trainings.size(), 8u);
  scenario.strategies.push_back(
      {.label = "own", .run = "bsp", .workload = {{"lr", "0.5"}}, .cases = {"iid", "same"}});
  EXPECT_EQ(plan(scenario).trainings.size(), 10u);
  EXPECT_EQ(plan(scenario).runs.size(), 14u);
}

TEST(ComparisonPlan, TrainsEveryCaseWhereTimeHasASay) {
  const auto is_trained = [](const PlannedRun& run) {
    return !run.trained_in && !has(run, "--timing-only");
  };
  ScenarioCase deadly = case_of("deadly");
  deadly.cluster.deaths.push_back({.worker = WorkerId{1}, .step = Step{3}});
  ScenarioCase epochs = case_of("epochs");
  epochs.workload = {{"epochs", "2"}};
  for (const Scenario& scenario :
       {scenario_of({case_of("a"), case_of("b")}, {"asp:buckets=1"}),
        scenario_of({case_of("a", 8, 0)}, {"bsp"}), scenario_of({deadly}, {"bsp"}),
        scenario_of({epochs}, {"bsp"})}) {
    const ComparisonPlan planned = plan(scenario);
    EXPECT_TRUE(planned.trainings.empty());
    EXPECT_TRUE(std::all_of(planned.runs.begin(), planned.runs.end(), is_trained));
  }
  const ComparisonPlan real =
      plan(scenario_of({case_of("a")}, {"bsp"}), {.engine = "threads", .has_timing = false});
  EXPECT_TRUE(std::all_of(real.runs.begin(), real.runs.end(), is_trained));
}

TEST(ComparisonPlan, ACaseMayBeTimedOnlyWithValuesOfAnother) {
  ScenarioCase map = case_of("map");
  map.workload["timing_only"] = "true";
  map.seeds = {1, 7};
  const ComparisonPlan planned = plan(scenario_of({case_of("trained"), map}, {"bsp", "asp"}));
  const PlannedRun& known = planned.runs[4];
  const PlannedRun& unknown = planned.runs[5];
  EXPECT_EQ(planned.trainings[*known.trained_in].id, "trained/trained-2/bsp/1");
  EXPECT_FALSE(unknown.trained_in) << "nobody trained with seed 7";
  EXPECT_TRUE(has(planned.runs[6], "--timing-only")) << "asp is timed too, if asked for";
}

TEST(ComparisonPlan, LooksAtTheModelFortyTimesWhereThatIsCheapOrNeeded) {
  Scenario scenario = scenario_of({case_of("a", 8, 0)}, {"bsp"});
  EXPECT_TRUE(has(plan(scenario).runs[0], "--evaluate-every"));
  EXPECT_TRUE(has(plan(scenario).runs[0], "2"));
  scenario.cases[0].workload["data"] = "fashion_mnist";
  EXPECT_FALSE(has(plan(scenario).runs[0], "--evaluate-every"));
  scenario.target = Target{.of = Target::Of::loss, .value = 0.1};
  EXPECT_TRUE(has(plan(scenario).runs[0], "--evaluate-every"));
  scenario.cases[0].workload["evaluate_every"] = "17";
  EXPECT_TRUE(has(plan(scenario).runs[0], "17"));
}

TEST(ComparisonPlan, FlagsAreGivenOrNot) {
  Scenario scenario = scenario_of({case_of("a")}, {"bsp"});
  scenario.cases[0].workload["nesterov"] = "true";
  EXPECT_TRUE(has(plan(scenario).trainings[0], "--nesterov"));
  EXPECT_FALSE(has(plan(scenario).trainings[0], "true"));
  EXPECT_FALSE(has(plan(scenario).runs[0], "--nesterov"))
      << "a run without values has no use for it";
  scenario.cases[0].workload["nesterov"] = "false";
  EXPECT_FALSE(has(plan(scenario).trainings[0], "--nesterov"));
}

TEST(ComparisonPlan, DifferentNamesGetDifferentFolders) {
  const ComparisonPlan planned =
      plan(scenario_of({case_of("1 ms"), case_of("1-ms"), case_of("1/ms")}, {"bsp", "asp:x=1"}));
  std::vector<std::string> ids;
  for (const PlannedRun& run : planned.runs) ids.push_back(run.id);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(planned.case_files[2], "cases/1-ms-3.toml");
}

TEST(SafeName, IsAlwaysAPlainName) {
  EXPECT_EQ(safe_name("0.1 ms"), "0.1-ms");
  EXPECT_EQ(safe_name("bsp:algorithm=ring,buckets=4"), "bsp-algorithm-ring-buckets-4");
  EXPECT_EQ(safe_name("../../etc"), "etc");
  EXPECT_EQ(safe_name(".."), "unnamed");
  EXPECT_EQ(safe_name(""), "unnamed");
  EXPECT_EQ(safe_name("µs"), "s");
  EXPECT_LE(safe_name(std::string(500, 'x')).size(), 80u);
}

TEST(ShellText, QuotesWhatNeedsIt) {
  EXPECT_EQ(shell_text({"huddle", "a b", "it's", "", "bsp:x=1"}),
            "huddle 'a b' 'it'\\''s' '' bsp:x=1");
}

TEST(ComparisonPlan, TrainsOnceWhatDiffersOnlyInHowItTravels) {
  const ComparisonPlan planned =
      plan(scenario_of({case_of("lan")}, {"bsp", "bsp:buckets=4", "sesgd"}));
  EXPECT_EQ(planned.trainings.size(), 4u) << "two seeds of bsp and of sesgd";
  EXPECT_EQ(planned.runs.size(), 6u);
  EXPECT_EQ(planned.runs[2].trained_in, planned.runs[0].trained_in);
  EXPECT_TRUE(has(planned.runs[2], "bsp:buckets=4"));
}

TEST(ComparisonPlan, FormsTheMeanOnceInEachCaseWhereThereIsATarget) {
  ScenarioCase racks = case_of("racks");
  racks.cluster.topology = in_racks({4, 4});
  Scenario scenario = scenario_of({case_of("lan"), racks}, {"sesgd"});
  EXPECT_TRUE(plan(scenario).averages.empty());
  scenario.target = Target{.value = 0.9};
  const ComparisonPlan planned = plan(scenario);
  ASSERT_EQ(planned.averages.size(), 2u);
  EXPECT_EQ(joined(planned.averages[0].arguments, " "),
            "train --engine sim --cluster cases/lan.toml --strategy bsp:overlap=none --steps 1 "
            "--timing-only --seed 1 --out runs/average/lan --quiet");
  EXPECT_TRUE(has(planned.averages[1], "bsp:algorithm=sharded,overlap=none"));
}

TEST(ComparisonPlan, TheMeanOfAModelWithoutAnotherSizeIsFormedInAStepOfTraining) {
  Scenario scenario = scenario_of({case_of("lan", 8, 0)}, {"sesgd"});
  scenario.target = Target{.value = 0.9};
  const ComparisonPlan planned = plan(scenario);
  EXPECT_FALSE(has(planned.averages[0], "--timing-only"));
  EXPECT_TRUE(has(planned.averages[0], "--data"));
}

TEST(ComparisonPlan, TunesEachStrategyOnceForAllCasesThatComputeTheSame) {
  ScenarioCase skewed = case_of("skewed");
  skewed.workload["split"] = "skew:0.64";
  ScenarioCase timed = case_of("timed");
  timed.workload["timing_only"] = "true";
  Scenario scenario = scenario_of({case_of("1 ms"), case_of("5 ms"), skewed, timed},
                                  {"bsp", "bsp:buckets=4", "asp"});
  for (ScenarioStrategy& strategy : scenario.strategies) strategy.rates = {"0.05", "0.1"};
  const ComparisonPlan planned = plan(scenario);
  ASSERT_EQ(planned.tunings.size(), 8u) << "bsp and asp, two splits, two rates";
  const TuningRun& first = planned.tunings[0];
  EXPECT_EQ(first.run.id, "tuned/1-ms/bsp/0.05");
  EXPECT_EQ(joined(first.run.arguments, " "),
            "train --engine sim --cluster cases/1-ms.toml --strategy bsp --data digits --holdout "
            "0.1 --lr 0.05 --steps 80 --seed 0 --out runs/tuned/1-ms/bsp/0.05 --quiet");
  using Places = std::vector<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(first.serves, (Places{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(planned.tunings[1].serves, first.serves);
  EXPECT_TRUE(has(planned.tunings[1].run, "0.1"));
  for (ScenarioStrategy& strategy : scenario.strategies)
    for (const ScenarioCase& one : scenario.cases) strategy.tuned[one.name] = "0.1";
  EXPECT_TRUE(plan(scenario).tunings.empty());
  EXPECT_TRUE(has(plan(scenario).trainings[0], "0.1"));
}

}  // namespace
}  // namespace huddle
