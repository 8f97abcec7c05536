#include "huddle/strategy/eager/eager.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

class Eager : public testing::TestWithParam<const char*> {};

TEST_P(Eager, EveryGradientCountsOnceAndAllEndEqual) {
  for (const int workers : {1, 2, 5}) {
    const Descended run = descend({.spec = GetParam(),
                                   .workers = workers,
                                   .steps = 30,
                                   .update = {.learning_rate = 1},
                                   .gradient = one_everywhere,
                                   .compute = 0.0002,
                                   .slowdowns = {{.worker = {workers - 1}, .factor = 4}}});
    EXPECT_TRUE(all_equal(run.parameters)) << workers;
    EXPECT_NEAR(first_of(run.parameters[0]), -30, 1e-9) << workers;
  }
}

TEST_P(Eager, ReplicasWithMomentumEndEqualToTheLastBit) {
  const Descended run = descend({.spec = GetParam(), .workers = 4, .compute = 0.0002});
  EXPECT_TRUE(all_equal(run.parameters));
  EXPECT_GT(run.parameters[0].abs().max().item<double>(), 0);
}

// Workers that were late apply rounds at steps whose rates are not those of the rounds.
TEST_P(Eager, ReplicasUnderAScheduleEndEqualToTheLastBit) {
  const Descended run = descend({.spec = GetParam(),
                                 .workers = 4,
                                 .steps = 30,
                                 .learning_rate = [](int step) { return 0.1 / (1 + step); },
                                 .compute = 0.0002,
                                 .slowdowns = {{.worker = {2}, .factor = 8}}});
  EXPECT_TRUE(all_equal(run.parameters));
  EXPECT_GT(run.parameters[0].abs().max().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, Eager, testing::Values("eager", "eager:mode=solo"));

TEST(EagerAlone, IsPlainTraining) {
  const auto falling = [](int step) { return 0.1 / (1 + step); };
  const Descended plain = descend({.spec = "bsp", .workers = 1, .learning_rate = falling});
  const Descended eager = descend({.spec = "eager", .workers = 1, .learning_rate = falling});
  EXPECT_TRUE(at::equal(plain.parameters[0], eager.parameters[0]));
}

TEST(EagerKeys, RefusesWhatCannotWork) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  EXPECT_NO_THROW(prepare_strategy("eager:mode=solo", setting));
  for (const char* spec : {"eager:mode=all", "eager:mode=solo,seed=1"})
    EXPECT_THROW(prepare_strategy(spec, setting), UsageError) << spec;  // Solo draws nobody.
}

}  // namespace
}  // namespace huddle
