#include "huddle/strategy/random_groups/random_groups.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

TEST(RandomGroups, AreDrawnFromTheSeedAlone) {
  const Descended first = descend({.spec = "random_groups", .workers = 8});
  const Descended second = descend({.spec = "random_groups", .workers = 8, .compute = 0.0005});
  EXPECT_TRUE(same_bits(first, second));
  EXPECT_FALSE(same_bits(first, descend({.spec = "random_groups:seed=1", .workers = 8})));
  for (const Group& group : first.groups) {
    EXPECT_LE(group.size(), 3);
    EXPECT_GE(group.size(), 2);
  }
}

TEST(RandomGroups, MixWithoutMovingTheMean) {
  const Descended run = descend({.spec = "random_groups:group=2",
                                 .workers = 7,
                                 .steps = 60,
                                 .update = {.learning_rate = 1},
                                 .gradient = own_number_once});
  EXPECT_NEAR(first_of(mean_of(run.parameters)), -3, 1e-12);
  EXPECT_LT(spread(run.parameters), 0.01);
}

TEST(RandomGroups, RefusesWhatCannotWork) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  EXPECT_NO_THROW(prepare_strategy("random_groups:group=8", setting));
  for (const char* spec :
       {"random_groups:group=1", "random_groups:group=9", "random_groups:group=4294967298"})
    EXPECT_THROW(prepare_strategy(spec, setting), UsageError) << spec;
  setting.cluster.workers = 1;
  EXPECT_THROW(prepare_strategy("random_groups", setting), UsageError);
}

}  // namespace
}  // namespace huddle
