#include "huddle/compare/scenario/tuning.h"

#include <gtest/gtest.h>

#include <limits>

namespace huddle {
namespace {

RunOutcome outcome(double accuracy, double loss) {
  RunOutcome outcome{.status = "complete"};
  outcome.accuracy["consensus"] = accuracy;
  outcome.test_loss["consensus"] = loss;
  return outcome;
}

Scenario two_strategies() {
  Scenario scenario;
  scenario.cases = {{.name = "lan"}, {.name = "wan"}};
  scenario.strategies = {{.label = "bsp", .run = "bsp"}, {.label = "sesgd", .run = "sesgd"}};
  return scenario;
}

// bsp serves both cases, sesgd the first alone.
ComparisonPlan three_rates_each() {
  ComparisonPlan plan;
  for (const char* rate : {"0.05", "0.1", "0.2"})
    plan.tunings.push_back({{.strategy_index = 0}, rate, {{0, 0}, {1, 0}}});
  for (const char* rate : {"0.05", "0.1", "0.2"})
    plan.tunings.push_back({{.strategy_index = 1}, rate, {{0, 1}}});
  return plan;
}

TEST(Tuning, GivesEachStrategyItsMostAccurateRate) {
  Scenario scenario = two_strategies();
  const std::vector outcomes{outcome(0.8, 1), outcome(0.9, 1), outcome(0.7, 1),
                             outcome(0.8, 1), outcome(0.8, 2), outcome(0.85, 3)};
  const auto tunings = choose_rates(scenario, three_rates_each(), outcomes);
  EXPECT_EQ(scenario.strategies[0].tuned.at("lan"), "0.1");
  EXPECT_EQ(scenario.strategies[0].tuned.at("wan"), "0.1");
  EXPECT_EQ(scenario.strategies[1].tuned.at("lan"), "0.2");
  EXPECT_FALSE(scenario.strategies[1].tuned.contains("wan"));
  ASSERT_EQ(tunings.size(), 6u);
  EXPECT_TRUE(tunings[1].is_best);
  EXPECT_FALSE(tunings[0].is_best);
  EXPECT_NE(tuning_note(tunings).find("tried for sesgd (0.2)."), std::string::npos)
      << tuning_note(tunings);
}

TEST(Tuning, SaysInWhichCaseARateWasAtTheEdgeWhereThereAreSeveral) {
  Scenario scenario = two_strategies();
  ComparisonPlan plan;
  for (const std::size_t one : {0u, 1u})
    for (const char* rate : {"0.05", "0.1"})
      plan.tunings.push_back({{.case_index = one, .strategy_index = 0}, rate, {{one, 0}}});
  const std::vector outcomes{outcome(0.8, 1), outcome(0.9, 1), outcome(0.8, 1), outcome(0.7, 1)};
  const std::string note = tuning_note(choose_rates(scenario, plan, outcomes));
  EXPECT_NE(note.find("bsp (0.1 in lan), bsp (0.05 in wan)"), std::string::npos) << note;
}

TEST(Tuning, CountsTheCasesThatOneRateServes) {
  Scenario scenario = two_strategies();
  ComparisonPlan plan = three_rates_each();
  for (std::size_t i = 3; i < 6; ++i) {  // sesgd is tuned in the other case.
    plan.tunings[i].run.case_index = 1;
    plan.tunings[i].serves = {{1, 1}};
  }
  const std::vector outcomes(6, outcome(0.8, 1));
  const std::string note = tuning_note(choose_rates(scenario, plan, outcomes));
  EXPECT_NE(note.find("bsp (0.05 in lan and another case), sesgd (0.05 in wan)"), std::string::npos)
      << note;
}

TEST(Tuning, LetsTheLossDecideBetweenEquallyAccurateRates) {
  Scenario scenario = two_strategies();
  const std::vector outcomes{
      outcome(0.9, 0.5), outcome(0.9, 0.4),
      outcome(0.9, 0.6), outcome(0.9, std::numeric_limits<double>::quiet_NaN()),
      outcome(0.9, 7),   outcome(0.9, 8)};
  const auto tunings = choose_rates(scenario, three_rates_each(), outcomes);
  EXPECT_EQ(scenario.strategies[0].tuned.at("lan"), "0.1");
  EXPECT_EQ(scenario.strategies[1].tuned.at("lan"), "0.1");
  EXPECT_EQ(tuning_note(tunings).find("smallest or largest"), std::string::npos);
}

TEST(Tuning, PassesOverRatesThatDiverged) {
  Scenario scenario = two_strategies();
  std::vector outcomes(6, outcome(0.99, 0.1));
  for (RunOutcome& one : outcomes) one.status = "diverged";
  outcomes[2] = outcome(0.5, 1);
  choose_rates(scenario, three_rates_each(), outcomes);
  EXPECT_EQ(scenario.strategies[0].tuned.at("lan"), "0.2");
  EXPECT_EQ(scenario.strategies[1].tuned.at("lan"), "0.05") << "none is left: its runs will tell";
}

}  // namespace
}  // namespace huddle
