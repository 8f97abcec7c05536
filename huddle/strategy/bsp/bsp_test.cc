// BSP on flat tensors and a closed-form problem: the mean gradient, every variant the same.

#include "huddle/strategy/bsp/bsp.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr std::int64_t kSize = 1000;

struct Result {
  std::vector<at::Tensor> parameters;
  Meter::Total traffic;  // Of worker 0.
};

// Worker i descends 0.5 |x - i|^2 for 20 steps.
Result descend(const std::string& spec, int workers,
               ThreadsOptions::Native native = ThreadsOptions::Native::on) {
  ThreadsOptions options;
  options.cluster.workers = workers;
  options.native = native;
  Result result;
  result.parameters.resize(static_cast<std::size_t>(workers));
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const at::Tensor x = at::linspace(-1, 1, kSize, at::kDouble);
    const at::Tensor gradients = at::zeros_like(x);
    Replica replica(x, gradients, at::zeros({0}, at::kDouble), {300, 200, 400, 100},
                    UpdateRule({.learning_rate = 0.1, .momentum = 0.9}));
    StepLoop loop(endpoint, replica, spec, {.averaging = {.deadline = {20}}});
    for (int step = 0; step < 20; ++step) {
      loop.begin();
      gradients.copy_(x - endpoint.self().value);
      loop.replay_backward();
      const Outcome outcome = loop.end();
      EXPECT_EQ(outcome.group, Group::everyone(workers));
      EXPECT_EQ(outcome.progress, step + 1.0);
    }
    loop.finish();
    result.parameters[static_cast<std::size_t>(endpoint.self().value)] = x;
    if (endpoint.self().value == 0) result.traffic = loop.take_traffic();
  });
  return result;
}

at::Tensor expected(int workers) {
  at::Tensor x = at::linspace(-1, 1, kSize, at::kDouble);
  at::Tensor velocity = at::zeros_like(x);
  for (int step = 0; step < 20; ++step) {
    velocity = 0.9 * velocity + (x - (workers - 1) / 2.0);
    x = x - 0.1 * velocity;
  }
  return x;
}

TEST(Bsp, TakesTheStepOfTheMeanGradientInEveryVariant) {
  for (const char* spec :
       {"bsp", "bsp:buckets=3", "bsp:buckets=4,lanes=2", "bsp:buckets=2,overlap=none",
        "bsp:algorithm=ring,buckets=2", "bsp:algorithm=direct"})
    for (const int workers : {1, 2, 3, 5}) {
      const Result result = descend(spec, workers);
      EXPECT_TRUE(at::allclose(result.parameters[0], expected(workers), 1e-12, 1e-12))
          << spec << " " << workers;
      for (const at::Tensor& parameters : result.parameters)
        EXPECT_TRUE(at::equal(parameters, result.parameters[0])) << spec;
    }
}

TEST(Bsp, GivesTheSameBitsWithAndWithoutOverlapAndSharedMemory) {
  for (const char* algorithm : {"ring", "halving_doubling", "leader", "sharded", "direct"}) {
    const std::string spec = std::string("bsp:buckets=3,algorithm=") + algorithm;
    const at::Tensor reference = descend(spec, 4).parameters[0];
    EXPECT_TRUE(at::equal(descend(spec + ",overlap=none", 4).parameters[0], reference))
        << algorithm;
    EXPECT_TRUE(at::equal(descend(spec + ",lanes=2", 4).parameters[0], reference)) << algorithm;
    EXPECT_TRUE(at::equal(descend(spec, 4, ThreadsOptions::Native::off).parameters[0], reference))
        << algorithm;
  }
}

TEST(Bsp, SendsWhatItsAlgorithmPromises) {
  const double model_bytes = kSize * 8;
  EXPECT_DOUBLE_EQ(static_cast<double>(descend("bsp:algorithm=ring", 4).traffic.bytes_sent),
                   20 * model_bytes * 2 * 3 / 4);
  EXPECT_EQ(descend("bsp:algorithm=ring", 4).traffic.messages_sent, 20 * 6);
  EXPECT_EQ(descend("bsp:algorithm=ring,buckets=2", 4).traffic.messages_sent, 20 * 12);
  EXPECT_DOUBLE_EQ(static_cast<double>(descend("bsp", 2).traffic.bytes_sent), 20 * model_bytes);
}

void expect_refused(const std::string& spec, int workers, const std::string& part) {
  StrategySetting setting;
  setting.cluster.workers = workers;
  try {
    prepare_strategy(spec, setting);
    FAIL() << spec << " was accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Registry, RefusesWhatCannotRunAndSaysWhatCould) {
  expect_refused("bps", 4, "did you mean 'bsp'");
  expect_refused("bsp:bucket=4", 4, "did you mean 'buckets'");
  expect_refused("bsp:algorithm=rings", 4, "did you mean 'ring'");
  expect_refused("bsp:buckets=-1", 4, "buckets='-1'");
  expect_refused("bsp:algorithm=pair", 3, "groups of 2");
  expect_refused("bsp:buckets", 4, "not key=value");
  expect_refused("bsp:buckets=4,lanes=2,overlap=none", 4, "use overlap=backward");
  expect_refused("bsp:buckets=1,lanes=2", 4, "use buckets=4");
}

}  // namespace
}  // namespace huddle
