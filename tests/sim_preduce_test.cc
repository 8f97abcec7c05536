// P-Reduce in virtual time: its throughput where only computing takes time, islands with and
// without the filter, and deaths in every phase of a step.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"
#include "tests/support/in_child.h"

namespace huddle {
namespace {

TrainOptions options_for(const Cluster& cluster, const std::string& strategy, std::int64_t steps) {
  return {.strategy = strategy,
          .workers = cluster.workers,
          .steps = steps,
          .compute = {cluster.compute_per_step, cluster.backward_share}};
}

Cluster eight() {
  Cluster cluster;
  cluster.workers = 8;
  cluster.compute_per_step = 1;
  cluster.backward_share = 0.5;  // Halves add up without rounding, so that equal workers tie.
  cluster.seed = 5;
  return cluster;
}

// Section 11 of the specification: steps of all workers in a second, links free.
struct Rate {
  const char* name;
  std::function<void(Cluster&)> disturb;
  const char* strategy;
  double expected;
};

void PrintTo(const Rate& rate, std::ostream* out) { *out << rate.name << ' ' << rate.strategy; }

class Throughput : public testing::TestWithParam<Rate> {};

TEST_P(Throughput, IsThatOfTheSpecification) {
  constexpr std::int64_t kSteps = 400;
  Cluster cluster = eight();
  GetParam().disturb(cluster);
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(
      *launcher, 1e6, options_for(cluster, GetParam().strategy, kSteps), [](const StepRecord&) {});
  ASSERT_FALSE(result.error);
  const double rate = static_cast<double>(result.summary.steps_taken) / result.summary.seconds;
  EXPECT_NEAR(rate / GetParam().expected, 1, 0.03) << rate << " steps a second";
}

// 8 MB in 0.4 s beside computation of 1 s, one worker three times as slow.
TrainResult beside_an_exchange(const std::string& strategy) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {7}, .factor = 3.00001}};
  cluster.topology.nic_bytes_per_second = 2e7;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  return time_strategy(*launcher, 8e6, options_for(cluster, strategy, 200),
                       [](const StepRecord&) {});
}

// Where computing takes longer than meeting, everybody goes at its own pace: 7 + 1/3 steps a
// second.
TEST(HiddenPReduce, TakesNoTimeForItsMeetings) {
  const TrainResult result = beside_an_exchange("p_reduce:group=2,weights=constant,hide=step");
  ASSERT_FALSE(result.error);
  const double rate = static_cast<double>(result.summary.steps_taken) / result.summary.seconds;
  EXPECT_NEAR(rate, 7 + 1. / 3, 0.1);
  EXPECT_GE(result.summary.steps_taken, 8 * 200);
  EXPECT_LE(result.summary.steps_taken, 8 * 200 + 7);
  Seconds hidden = 0;
  for (const TimeSplit& worker : result.summary.time) hidden += worker.hidden;
  EXPECT_GT(hidden, 0.4 * 7 * 150);
}

TEST(HiddenPReduce, WaitsWhereItIsNotHidden) {
  const TrainResult result = beside_an_exchange("p_reduce:group=2,weights=constant");
  ASSERT_FALSE(result.error);
  const double rate = static_cast<double>(result.summary.steps_taken) / result.summary.seconds;
  EXPECT_LT(rate, 6);
}

std::vector<Rate> rates() {
  struct Scenario {
    const char* name;
    std::function<void(Cluster&)> disturb;
    double expected[4];
  };
  const Scenario scenarios[] = {
      {"equal", [](Cluster&) {}, {8.00, 6.00, 5.00, 8.00}},
      {"jitter",
       [](Cluster& cluster) {
         cluster.jitter = 0.1;
         cluster.jitter_kind = Cluster::Jitter::half_normal;
       },
       {7.10, 5.80, 4.78, 6.79}},
      // Slow workers tie with the others, and the order of ties matters to pairs. The
      // specification's is by worker, the slow ones last, so they come a hair late here. Measured
      // in other orders: one slow, 7.00 a hair early, 6.97 at random, 6.71 as the engine has exact
      // ties; two slow, 5.84, 6.20 and 6.64, so that 6.00 holds for this order alone.
      {"one 2x slow",
       [](Cluster& cluster) { cluster.slowdowns = {{.worker = {7}, .factor = 2.00001}}; },
       {7.00, 6.00, 5.00, 4.00}},
      {"two 3x slow",
       [](Cluster& cluster) {
         cluster.slowdowns = {{.worker = {6}, .factor = 3.00001},
                              {.worker = {7}, .factor = 3.00001}};
       },
       {6.00, 6.00, 5.00, 2.67}},
      {"pauses",
       [](Cluster& cluster) {
         cluster.pauses = {{.probability = 0.1, .seconds = 1}, {.probability = 0.1, .seconds = 1}};
       },
       {6.20, 5.71, 4.95, 4.2}},
  };
  const char* const strategies[] = {"p_reduce:group=2", "p_reduce:group=3", "p_reduce:group=5",
                                    "p_reduce:group=8"};
  std::vector<Rate> rates;
  for (const Scenario& scenario : scenarios)
    for (std::size_t i = 0; i < 4; ++i)
      rates.push_back({scenario.name, scenario.disturb, strategies[i], scenario.expected[i]});
  return rates;
}

INSTANTIATE_TEST_SUITE_P(Sim, Throughput, testing::ValuesIn(rates()));

// Four equally fast workers, each with an optimum of its own; two of them began half a step later.
// What is left between the two pairs after many steps, and between the members of one.
struct Gaps {
  double between = 0;
  double within = 0;
  double rho = 0;
};

Gaps gaps_of_pairs(const std::string& filter) {
  Cluster cluster;
  cluster.workers = 4;
  std::vector<double> models(4);
  Gaps gaps;
  make_sim_launcher({.cluster = cluster})->run([&](Endpoint& endpoint) {
    const int self = endpoint.self().value;
    const at::Tensor x = at::zeros({1}, at::kDouble);
    Replica replica(x, at::zeros_like(x), at::zeros({0}, at::kDouble), {1},
                    UpdateRule({.learning_rate = 0.1}));
    StepLoop loop(endpoint, replica, "p_reduce:group=2,filter=" + filter,
                  {.averaging = {.deadline = {100}}, .steps = 200, .compute = {.per_step = 1}});
    if (self >= 2) endpoint.compute(Step{0}, 0.5);
    bool go_on = true;
    while (go_on) {
      loop.begin();
      replica.gradients().copy_(x - self);
      loop.replay_backward();
      go_on = loop.end().go_on;
    }
    loop.finish();
    models[static_cast<std::size_t>(self)] = x.item<double>();
    if (self == 0) gaps.rho = loop.strategy().figures().at("p_reduce.rho");
  });
  gaps.between = std::abs(models[0] + models[1] - models[2] - models[3]) / 2;
  gaps.within = std::max(std::abs(models[0] - models[1]), std::abs(models[2] - models[3]));
  return gaps;
}

TEST(SimPReduce, PairsInLockstepStayTwoIslandsWithoutTheFilter) {
  const Gaps gaps = gaps_of_pairs("off");
  EXPECT_NEAR(gaps.between, 2, 1e-6);  // The pairs' own optima are 0.5 and 2.5.
  EXPECT_LE(gaps.within, 0.1 + 1e-9);  // At the end some get no partner for their last step.
  EXPECT_NEAR(gaps.rho, 1, 1e-12);
}

TEST(SimPReduce, PairsInLockstepBecomeOneWithTheFilter) {
  const Gaps gaps = gaps_of_pairs("on");
  EXPECT_LT(gaps.between, 0.5);
  EXPECT_LT(gaps.rho, 0.95);
}

// Control messages travel side by side: a step of a group of all costs two latencies of control and
// those of the average, 2 log2 n, however many workers there are.
TEST(SimPReduce, ControlCostsTwoLatencies) {
  Cluster cluster = eight();
  cluster.workers = 16;
  cluster.topology.latency_in_rack = 0.01;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(
      *launcher, 1e6, options_for(cluster, "p_reduce:group=16,algorithm=halving_doubling", 20),
      [](const StepRecord&) {});
  ASSERT_FALSE(result.error);
  EXPECT_NEAR(result.summary.seconds / 20, 1 + (2 + 2 * 4) * 0.01, 0.002);
}

// Deaths. A step of the victim as an undisturbed run has it, to aim at its phases: by then the run
// with the death is the same.
constexpr WorkerId kVictim{3};
constexpr std::int64_t kSteps = 12;
constexpr Seconds kLatency = 0.1;

Cluster with_every_phase() {
  Cluster cluster = eight();
  cluster.jitter = 0.2;
  cluster.topology.latency_in_rack = kLatency;
  cluster.topology.nic_bytes_per_second = 4e6;  // 1 s for the average of a model of 3 MB by three.
  return cluster;
}

enum class Phase { computing, queued, grouped, averaging };

// A stretch of time in which the victim is in the phase.
struct Stretch {
  Time begin = 0;
  Time end = 0;
};

Stretch stretch_of(const StepRecord& step, Phase phase) {
  const Time averaging = step.end - step.time.exchange;
  const Time waiting = averaging - step.time.wait;
  // The wait ends with the first data, one latency after the group was known, which in turn took
  // one to travel.
  switch (phase) {
    case Phase::computing: return {waiting - step.time.compute, waiting};
    case Phase::queued: return {waiting, averaging - 2 * kLatency};
    case Phase::grouped: return {averaging - 2 * kLatency, averaging - kLatency};
    case Phase::averaging: return {averaging - kLatency, step.end};
  }
  return {};
}

constexpr const char* kTriples = "p_reduce:group=3,algorithm=ring";

std::vector<StepRecord> undisturbed_steps() {
  const Cluster cluster = with_every_phase();
  std::vector<StepRecord> steps;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  time_strategy(*launcher, 3e6, options_for(cluster, kTriples, kSteps),
                [&](const StepRecord& step) {
                  if (step.worker == kVictim && step.group.size() > 1) steps.push_back(step);
                });
  return steps;
}

// Random moments in one phase, one a line.
std::string moments_in(Phase phase, int count) {
  std::vector<Stretch> stretches;
  for (const StepRecord& step : undisturbed_steps()) {
    const Stretch stretch = stretch_of(step, phase);
    if (stretch.end - stretch.begin > 0.02) stretches.push_back(stretch);
  }
  if (stretches.empty()) return "";
  Random random(static_cast<std::uint64_t>(phase));
  std::ostringstream moments;
  moments.precision(17);
  for (int i = 0; i < count; ++i) {
    const Stretch& stretch = stretches[random.below(stretches.size())];
    moments << stretch.begin + (stretch.end - stretch.begin) * (0.01 + 0.98 * random.uniform())
            << ' ';
  }
  return moments.str();
}

// What is wrong with a run in which the victim dies at this moment; empty: nothing.
std::string trouble_when_dying_at(Time moment) {
  Cluster cluster = with_every_phase();
  cluster.deaths = {{.worker = kVictim, .step = {}, .time = moment}};
  std::map<WorkerId, std::int64_t> steps;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(*launcher, 3e6, options_for(cluster, kTriples, kSteps),
                                           [&](const StepRecord& step) { ++steps[step.worker]; });
  try {
    if (result.error) std::rethrow_exception(result.error);
  } catch (const std::exception& error) {
    return error.what();
  }
  if (result.summary.lost.size() != 1 ||
      result.summary.lost[0].find("worker 3 died after") == std::string::npos)
    return "the loss was not named";
  std::int64_t taken = 0;
  for (const auto& [worker, count] : steps) taken += count;
  const std::int64_t budget = cluster.workers * kSteps;
  // A step that was reported counts, even if its worker died before it had a group.
  if (taken < budget - 1 || taken > budget + cluster.workers - 1)
    return concat(taken, " steps were taken");
  if (result.summary.seconds > 100) return concat("it took ", result.summary.seconds, " s");
  return "";
}

class Dying : public testing::TestWithParam<Phase> {};

TEST_P(Dying, EndsNobodyElsesTraining) {
  std::istringstream moments(alone([] { return moments_in(GetParam(), 50); }));
  int deaths = 0;
  for (Time moment = 0; moments >> moment; ++deaths)
    EXPECT_EQ(alone([&] { return trouble_when_dying_at(moment); }), "") << "at " << moment << " s";
  EXPECT_EQ(deaths, 50);
}

INSTANTIATE_TEST_SUITE_P(Sim, Dying,
                         testing::Values(Phase::computing, Phase::queued, Phase::grouped,
                                         Phase::averaging));

TEST(SimPReduce, TheLossOfTheControllerIsNamed) {
  Cluster cluster = with_every_phase();
  cluster.deaths = {{.worker = {0}, .step = {}, .time = 7.3}};
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(*launcher, 3e6, options_for(cluster, kTriples, kSteps),
                                           [](const StepRecord&) {});
  ASSERT_TRUE(result.error);
  try {
    std::rethrow_exception(result.error);
  } catch (const PeerLost& lost) {
    EXPECT_EQ(lost.peer(), WorkerId{0});
    EXPECT_NE(std::string(lost.what()).find("ran the controller"), std::string::npos)
        << lost.what();
  }
}

TEST(SimPReduce, ACutLinkEndsTheRunInsteadOfPairingItsEndsForEver) {
  Cluster cluster = with_every_phase();
  cluster.cuts = {{.place = {Place::Kind::worker, 5}, .time = 6.5}};
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(*launcher, 3e6, options_for(cluster, kTriples, kSteps),
                                           [](const StepRecord&) {});
  EXPECT_TRUE(result.error);
}

}  // namespace
}  // namespace huddle
