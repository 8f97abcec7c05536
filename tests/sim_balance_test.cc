// Learning rates scaled for equal shares (`balance=on`), in virtual time: a slow worker is heard as
// much as the others, under every strategy that can do so.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "huddle/strategy/step_loop.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"

namespace huddle {
namespace {

constexpr std::int64_t kSteps = 600;
constexpr int kSlow = 3;

Cluster one_of_four_is_slow() {
  Cluster cluster;
  cluster.workers = 4;
  cluster.compute_per_step = 1;
  cluster.slowdowns = {{.worker = {kSlow}, .factor = 5}};
  return cluster;
}

// The slow worker's optimum is 1, that of all others 0: what the consensus comes to is the weight
// of the slow one.
double weight_of_the_slow_one(const std::string& strategy) {
  double consensus = 0;
  make_sim_launcher({.cluster = one_of_four_is_slow()})->run([&](Endpoint& endpoint) {
    const at::Tensor x = at::zeros({8}, at::kDouble);
    Replica replica(x, at::zeros_like(x), at::zeros({0}, at::kDouble), {8},
                    UpdateRule({.learning_rate = 0.002, .momentum = 0.9}));
    StepLoop loop(endpoint, replica, strategy,
                  {.averaging = {.deadline = {1000}}, .steps = kSteps, .compute = {.per_step = 1}});
    while (!loop.is_over()) {
      loop.begin();
      replica.gradients().copy_(x - (endpoint.self().value == kSlow ? 1 : 0));
      loop.replay_backward();
      loop.end();
    }
    loop.finish();
    consensus += x.mean().item<double>() / endpoint.workers();
  });
  return consensus;
}

class Balance : public testing::TestWithParam<const char*> {};

TEST_P(Balance, OffLeavesASlowWorkerUnheard) {
  EXPECT_LT(weight_of_the_slow_one(GetParam()), 0.12);
}

TEST_P(Balance, OnLetsItCountLikeAnyOther) {
  EXPECT_NEAR(weight_of_the_slow_one(GetParam() + std::string(",balance=on")), 0.25, 0.03);
}

Summary timed(const std::string& strategy, const Cluster& cluster) {
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(
      *launcher, 1e6,
      {.strategy = strategy, .workers = 4, .steps = 300, .compute = {1, cluster.backward_share}},
      [](const StepRecord&) {});
  if (result.error) std::rethrow_exception(result.error);
  return result.summary;
}

TEST_P(Balance, IsToldInTheRecord) {
  const Summary run = timed(GetParam() + std::string(",balance=on"), one_of_four_is_slow());
  ASSERT_EQ(run.rate_factor_by_worker.size(), 4u);
  EXPECT_GT(run.rate_factor_by_worker[kSlow], 2);
  EXPECT_LT(std::ranges::min(run.rate_factor_by_worker), 1);
}

TEST_P(Balance, ScalesNothingUnlessAskedFor) {
  const Summary run = timed(GetParam(), one_of_four_is_slow());
  EXPECT_EQ(run.rate_factor_by_worker, std::vector<double>(4, 1));
}

INSTANTIATE_TEST_SUITE_P(Sim, Balance,
                         testing::Values("p_reduce:group=2,weights=constant",
                                         "p_reduce:group=2,weights=constant,hide=step",
                                         "ad_psgd:seed=1", "asp:buckets=1"));

class BalanceAfterALoss : public testing::TestWithParam<const char*> {};

TEST_P(BalanceAfterALoss, IsThatOfThoseWhoAreLeft) {
  Cluster cluster = one_of_four_is_slow();
  cluster.slowdowns.clear();
  cluster.deaths = {{.worker = {1}, .step = {2}}};
  const Summary run = timed(GetParam(), cluster);
  EXPECT_EQ(run.lost.size(), 1u);
  // Pairs of three leave one over, so shares need not be equal; what they count for is.
  for (const std::size_t worker : {0u, 2u, 3u}) {
    const auto share =
        static_cast<double>(run.steps_by_worker[worker]) / static_cast<double>(run.steps_taken);
    EXPECT_NEAR(share * run.rate_factor_by_worker[worker], 1. / 3, 0.05) << worker;
  }
}

INSTANTIATE_TEST_SUITE_P(Sim, BalanceAfterALoss,
                         testing::Values("p_reduce:group=2,weights=constant,balance=on",
                                         "ad_psgd:balance=on"));

}  // namespace
}  // namespace huddle
