#include "huddle/strategy/warmup.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

// Bits depend on how gradients are averaged, which strategies choose differently.
std::string bsp_like(const std::string& name) {
  const bool by_ring = name == "ds_sync" || name == "sesgd" || name == "random_groups";
  return by_ring ? "bsp:algorithm=ring" : "bsp";
}

TEST(Warmup, IsSynchronousSgdWhateverFollows) {
  for (const SpecInfo& info : known_strategies()) {
    if (info.name == "bsp") continue;
    const Descended warm =
        descend({.spec = info.name + ":warmup=6", .steps = 6, .run_steps = 1000});
    const Descended synchronous = descend({.spec = bsp_like(info.name), .steps = 6});
    EXPECT_TRUE(same_bits(warm, synchronous)) << info.name;
    EXPECT_EQ(warm.progress, synchronous.progress) << info.name;
    EXPECT_EQ(warm.groups, synchronous.groups) << info.name;
  }
}

TEST(Warmup, IsFollowedByTheStrategyFromOneModel) {
  for (const SpecInfo& info : known_strategies()) {
    if (info.name == "bsp") continue;
    const bool has_rounds = std::any_of(info.keys.begin(), info.keys.end(),
                                        [](const KeyInfo& key) { return key.name == "tau"; });
    const std::string spec = info.name + (has_rounds ? ":warmup=4,tau=2" : ":warmup=4");
    const Descended both = descend({.spec = spec, .steps = 9, .run_steps = 9});
    const Descended synchronous = descend({.spec = bsp_like(info.name), .steps = 9});
    for (std::size_t step = 0; step < 4; ++step)
      EXPECT_EQ(both.path[step], synchronous.path[step]) << info.name << " at step " << step;
    EXPECT_NE(both.path[8], synchronous.path[8]) << info.name;
    for (std::size_t step = 1; step < 9; ++step)
      EXPECT_GE(both.progress[step], both.progress[step - 1]) << info.name;
    EXPECT_GT(both.progress[8], 4) << info.name;
    EXPECT_LE(both.progress[8], 9.0 + 1) << info.name << " counts the next step of others at most";
  }
}

// Servers apply each of two equal gradients with half of the rate, on the velocity that the warm-up
// has left.
TEST(Warmup, HandsServersItsOptimizersState) {
  const auto gradient = [](int, int step, const at::Tensor& x) { return x - 1 + 0.1 * step; };
  const Descended result = descend({.spec = "ssp:bound=0,warmup=4",
                                    .workers = 2,
                                    .steps = 5,
                                    .gradient = gradient,
                                    .run_steps = 5});
  double x = 0;
  double velocity = 0;
  for (int step = 0; step < 4; ++step) {
    velocity = 0.9 * velocity + (x - 1 + 0.1 * step);
    x -= 0.1 * velocity;
  }
  const double last = x - 1 + 0.4;
  for (int push = 0; push < 2; ++push) {
    velocity = 0.9 * velocity + last;
    x -= 0.05 * velocity;
  }
  EXPECT_NEAR(result.path.back()[0], x, 1e-12);
}

TEST(Warmup, NamesItselfWhenAWorkerIsLost) {
  ThreadsOptions engine;
  engine.cluster.workers = 3;
  engine.cluster.deaths = {{.worker = {2}, .step = {3}, .time = {}}};
  try {
    make_threads_launcher(engine)->run([](Endpoint& endpoint) {
      Replica replica(at::zeros({6}), at::ones({6}), at::zeros({0}), {6}, UpdateRule({}));
      StepLoop loop(endpoint, replica, "p_reduce:warmup=6",
                    {.averaging = {.deadline = {20}}, .steps = 12});
      while (!loop.is_over()) {
        loop.begin();
        loop.replay_backward();
        loop.end();
      }
      loop.finish();
    });
    ADD_FAILURE() << "a warm-up went on without a worker";
  } catch (const PeerLost& lost) {
    EXPECT_NE(std::string(lost.what()).find("warm-up"), std::string::npos) << lost.what();
  }
}

TEST(Warmup, IsRefusedWhereNothingWouldFollow) {
  StrategySetting setting;
  setting.cluster.workers = 4;
  setting.steps = 10;
  EXPECT_NO_THROW(prepare_strategy("sesgd:warmup=9", setting));
  EXPECT_THROW(prepare_strategy("sesgd:warmup=10", setting), UsageError);
  EXPECT_THROW(prepare_strategy("post_local_sgd", setting), UsageError) << "by default, too";
}

TEST(Warmup, IsResumedWithinAndBehind) {
  for (const char* const spec : {"sesgd:warmup=5", "local_sgd:tau=3,warmup=5"})
    for (const int after : {2, 5, 7})
      EXPECT_TRUE(
          same_bits(descend({.spec = spec, .resume_after = after}), descend({.spec = spec})))
          << spec << " after " << after;
}

}  // namespace
}  // namespace huddle
