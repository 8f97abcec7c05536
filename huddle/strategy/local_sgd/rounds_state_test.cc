// What rounds keep: checkpoints in the middle of a flight, memory, and the account of time.

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

TEST(RoundsState, AResumedRunGoesOnWithTheSameBits) {
  for (const char* spec :
       {"local_sgd:tau=3", "post_local_sgd:warmup=4,tau=3", "slowmo:tau=3", "diloco:tau=3",
        "easgd:tau=3", "easgd:tau=3,overlap=round", "cocod:tau=3,statistics=average",
        "overlap_local_sgd:tau=3", "overlap_local_sgd:tau=3,beta=0.7,warmup=2"}) {
    Descent descent{.spec = spec, .learning_rate = [](int step) { return 0.1 / (1 + step); }};
    const Descended whole = descend(descent);
    for (const int after : {1, 3, 4, 6, 8, 11}) {  // In, at and behind boundaries.
      descent.resume_after = after;
      const Descended resumed = descend(descent);
      EXPECT_TRUE(same_bits(resumed, whole)) << spec << " after " << after;
      EXPECT_TRUE(at::equal(at::stack(resumed.statistics), at::stack(whole.statistics))) << spec;
      for (const auto& [name, model] : whole.models[0])
        EXPECT_TRUE(at::equal(resumed.models[0].at(name), model)) << spec << " after " << after;
    }
  }
}

TEST(RoundsState, RefusesACheckpointOfAnotherStrategyOrModel) {
  make_threads_launcher({})->run([](Endpoint& endpoint) {
    const at::Tensor x = at::zeros({5});
    Replica replica(x, at::zeros({5}), at::zeros({0}), {5}, UpdateRule({}));
    Meter meter;
    const auto strategy = make_strategy("overlap_local_sgd", {endpoint, replica, meter, {}});
    EXPECT_THROW(strategy->load({}), UsageError);
    Archive archive;
    strategy->save(archive);
    EXPECT_NO_THROW(strategy->load(archive));
    for (auto& [name, tensor] : archive.tensors) tensor = at::zeros({7});
    EXPECT_THROW(strategy->load(archive), UsageError);
  });
}

// Counts this thread's allocations that are as large as a model.
struct ModelsAllocated final : c10::MemoryReportingInfoBase {
  explicit ModelsAllocated(std::int64_t model_bytes) : bytes(model_bytes) {}
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    if (size >= bytes) ++models;
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t bytes;
  int models = 0;
};

TEST(RoundsState, AllocatesItsFewModelsBeforeTheFirstRound) {
  constexpr std::int64_t kSize = 100'000;
  for (const auto& [spec, models] :
       std::vector<std::pair<std::string, int>>{{"local_sgd:tau=2", 0},
                                                {"easgd", 1},
                                                {"overlap_local_sgd", 1},
                                                {"overlap_local_sgd:beta=0.7", 2},
                                                {"cocod", 2},
                                                {"slowmo:tau=2", 2},
                                                {"diloco:tau=2", 3}}) {
    ThreadsOptions engine;
    engine.cluster.workers = 2;
    make_threads_launcher(engine)->run([&, spec = spec, models = models](Endpoint& endpoint) {
      const at::Tensor x = at::zeros({kSize});
      const at::Tensor gradients = at::ones({kSize});
      Replica replica(x, gradients, at::zeros({0}), {kSize}, UpdateRule({.momentum = 0.9}));
      const auto counter = std::make_shared<ModelsAllocated>(kSize * 4);
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
      StepLoop loop(endpoint, replica, spec, {.averaging = {.deadline = {20}}});
      EXPECT_EQ(counter->models, models) << spec;
      for (int step = 0; step < 9; ++step) {
        loop.begin();
        loop.replay_backward();
        loop.end();
      }
      loop.finish();
      EXPECT_EQ(counter->models, models) << spec << " allocates in a round";
    });
  }
}

constexpr Seconds kStep = 0.08;

// Two workers that are slow in turn, so that each is a round behind the other again and again.
Descended in_turn(const std::string& spec) {
  Descent descent{.spec = spec, .workers = 2, .steps = 8, .compute = kStep};
  for (int step = 0; step < descent.steps; ++step)
    descent.slowdowns.push_back({WorkerId{step % 2}, 3, Step{step}, Step{step}});
  return descend(descent);
}

TEST(RoundsState, ADelayHidesWhatBlockingMethodsWaitFor) {
  const auto blocked = [](const Descended& result) {
    double seconds = 0;
    for (const Meter::Total& each : result.traffic) seconds += each.time.wait + each.time.exchange;
    return seconds;
  };
  const auto hidden = [](const Descended& result) {
    return result.traffic[0].time.hidden + result.traffic[1].time.hidden;
  };
  const Descended blocking = in_turn("local_sgd:tau=1");
  EXPECT_GT(blocked(blocking), 10 * kStep);  // In each step one waits for the other, twice kStep.
  EXPECT_EQ(hidden(blocking), 0);
  for (const char* spec : {"overlap_local_sgd:tau=1", "cocod:tau=1", "easgd:tau=1,overlap=round"}) {
    const Descended hiding = in_turn(spec);
    EXPECT_LT(blocked(hiding), blocked(blocking) / 2) << spec;
    EXPECT_GT(hidden(hiding), 5 * kStep) << spec;
  }
}

TEST(RoundsState, CountsEveryExchangeOnce) {
  const double model_bytes = 60 * 8;
  for (const char* spec : {"local_sgd:tau=3", "overlap_local_sgd:tau=3", "cocod:tau=3",
                           "slowmo:tau=3", "easgd:tau=3", "diloco:tau=3"}) {
    Descent descent{.spec = std::string(spec) + ",algorithm=ring", .statistics = 0};
    EXPECT_EQ(static_cast<double>(descend(descent).traffic[0].bytes_sent),
              4 * model_bytes * 2 * 3 / 4)
        << spec << ": four boundaries, a ring of four";
  }
}

}  // namespace
}  // namespace huddle
