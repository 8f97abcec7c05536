#include "huddle/schedule/schedule_options.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"

namespace huddle {
namespace {

ScheduleOptions ds_sync(std::string_view spec) {
  const SpecInfo info{.name = "ds_sync", .summary = "", .keys = schedule_keys_ds_sync()};
  return schedule_options_ds_sync(Options("strategy", info, parse_spec(spec)), {});
}

TEST(ScheduleOptions, ReadsEveryKey) {
  const ScheduleOptions grid = ds_sync("ds_sync:schedule=grid,radices=4x2x3,global_every=7");
  EXPECT_EQ(grid.kind, ScheduleOptions::Kind::grid);
  EXPECT_EQ(grid.radices, (std::vector{4, 2, 3}));
  EXPECT_EQ(grid.global_every, 7);
  EXPECT_EQ(ds_sync("ds_sync:schedule=rotating,cross_every=3").cross_every, 3);
  const ScheduleOptions random = ds_sync("ds_sync:schedule=random,group=4,seed=9");
  EXPECT_EQ(random.group, 4);
  EXPECT_EQ(random.seed, 9u);
  const SpecInfo info{.name = "sesgd", .summary = "", .keys = schedule_keys_sesgd()};
  const ScheduleOptions exchange =
      schedule_options_sesgd(Options("strategy", info, parse_spec("sesgd:radix=4,global_every=2")));
  EXPECT_EQ(exchange.kind, ScheduleOptions::Kind::exchange);
  EXPECT_EQ(exchange.radix, 4);
  EXPECT_EQ(exchange.global_every, 2);
}

TEST(ScheduleOptions, DefaultsToAPlainGrid) {
  const ScheduleOptions options = ds_sync("ds_sync");
  EXPECT_EQ(options.kind, ScheduleOptions::Kind::grid);
  EXPECT_TRUE(options.radices.empty());
  EXPECT_EQ(options.global_every, 0);
}

TEST(ScheduleOptions, RefusesKeysWithoutMeaning) {
  EXPECT_THROW(ds_sync("ds_sync:schedule=halves,radices=2x2"), UsageError);
  EXPECT_THROW(ds_sync("ds_sync:cross_every=2"), UsageError);
  EXPECT_THROW(ds_sync("ds_sync:group=2"), UsageError);
  EXPECT_THROW(ds_sync("ds_sync:seed=1"), UsageError);
  EXPECT_THROW(ds_sync("ds_sync:schedule=spiral"), UsageError);
}

TEST(ScheduleOptions, RefusesRadicesThatAreNotNumbers) {
  for (const char* text : {"4x", "x4", "four", "4 x4", "99999999999"})
    EXPECT_THROW(ds_sync(std::string("ds_sync:radices=") + text), UsageError) << text;
}

}  // namespace
}  // namespace huddle
