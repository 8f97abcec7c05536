// What every strategy declares of itself (Traits) is true of it.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "huddle/strategy/registry.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"

namespace huddle {
namespace {

constexpr std::int64_t kSteps = 24;

// Each strategy, with rounds that end within the run.
std::vector<std::string> strategies() {
  std::vector<std::string> specs;
  for (const SpecInfo& info : known_strategies()) {
    const bool has_rounds = std::any_of(info.keys.begin(), info.keys.end(),
                                        [](const KeyInfo& key) { return key.name == "tau"; });
    specs.push_back(info.name + (has_rounds ? ":tau=4,warmup=0" : ""));
  }
  return specs;
}

Cluster of_five() {
  Cluster cluster;
  cluster.workers = 5;
  cluster.compute_per_step = 0.1;
  cluster.topology.nic_bytes_per_second = 1e9;
  cluster.topology.latency_in_rack = 1e-4;
  return cluster;
}

TrainResult timed(const Cluster& cluster, const std::string& strategy) {
  const auto launcher = make_sim_launcher({.cluster = cluster});
  return time_strategy(*launcher, 1e6,
                       {.strategy = strategy,
                        .workers = cluster.workers,
                        .steps = kSteps,
                        .compute = {cluster.compute_per_step, cluster.backward_share}},
                       [](const StepRecord&) {});
}

class TraitsOf : public testing::TestWithParam<std::string> {};

TEST_P(TraitsOf, SayWhetherASlowWorkerTakesFewerSteps) {
  Cluster cluster = of_five();
  cluster.slowdowns = {{.worker = WorkerId{4}, .factor = 4}};
  const TrainResult result = timed(cluster, GetParam());
  ASSERT_FALSE(result.error);
  const std::vector<std::int64_t>& steps = result.summary.steps_by_worker;
  if (traits_of(GetParam()).pace == Pace::lockstep)
    EXPECT_EQ(steps, std::vector<std::int64_t>(5, kSteps));
  else
    EXPECT_LT(steps[4], *std::max_element(steps.begin(), steps.end()));
}

TEST_P(TraitsOf, SayWhetherThoseWhoAreLeftFinishTheRun) {
  Cluster cluster = of_five();
  cluster.deaths = {{.worker = WorkerId{2}, .step = Step{6}}};
  const TrainResult result = timed(cluster, GetParam());
  EXPECT_EQ(result.error == nullptr, traits_of(GetParam()).survives_loss);
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find(':'));
}

INSTANTIATE_TEST_SUITE_P(Every, TraitsOf, testing::ValuesIn(strategies()), name_of);

}  // namespace
}  // namespace huddle
