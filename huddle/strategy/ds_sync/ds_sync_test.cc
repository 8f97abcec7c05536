#include "huddle/strategy/ds_sync/ds_sync.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"

namespace huddle {
namespace {

Schedule schedule(const std::string& spec, int workers) {
  Cluster cluster;
  cluster.workers = workers;
  return schedule_of(spec, cluster);
}

TEST(DsSync, IsAPlainGridUnlessAskedOtherwise) {
  EXPECT_EQ(schedule("ds_sync", 16).period(), 2);
  EXPECT_EQ(schedule("ds_sync", 16).group_of({5}, {0}), Group({{4}, {5}, {6}, {7}}));
  EXPECT_EQ(schedule("ds_sync", 16).group_of({5}, {1}), Group({{1}, {5}, {9}, {13}}));
}

TEST(DsSync, ReadsEveryKey) {
  EXPECT_EQ(schedule("ds_sync:schedule=grid,radices=4x2x3,global_every=7", 24).cycle(), 3);
  EXPECT_EQ(schedule("ds_sync:schedule=grid,radices=4x2x3,global_every=7", 24).global_every(), 7);
  EXPECT_EQ(schedule("ds_sync:schedule=random,group=4,seed=9", 8).random()->seed, 9u);
  EXPECT_EQ(schedule("ds_sync:schedule=random,group=4,seed=9", 8).random()->groups, 2);
  Cluster racks;
  racks.workers = 8;
  racks.topology = in_racks({4, 4});
  EXPECT_NE(schedule_of("ds_sync:schedule=rotating,cross_every=3", racks).period(),
            schedule_of("ds_sync:schedule=rotating", racks).period());
  EXPECT_EQ(schedule("sesgd:radix=4,global_every=2", 16).cycle(), 2);
  EXPECT_EQ(schedule("sesgd:radix=4,global_every=2", 16).global_every(), 2);
}

TEST(DsSync, ChoosesItsScheduleByTheTopology) {
  Cluster cluster;
  cluster.workers = 16;
  cluster.topology = in_racks({4, 4, 4, 4});
  cluster.topology.nic_bytes_per_second = 1e9;
  const auto chosen = [&](const std::string& spec) {
    return std::holds_alternative<RotatingPattern>(schedule_of(spec, cluster).pattern())
               ? "rotating"
               : "grid";
  };
  EXPECT_STREQ(chosen("ds_sync"), "grid") << "an unlimited uplink";
  cluster.topology.uplink_bytes_per_second = 4e9;
  EXPECT_STREQ(chosen("ds_sync"), "grid") << "as wide as its rack";
  EXPECT_NE(schedule_of("ds_sync", cluster).note().find("no uplink is narrower"),
            std::string::npos);
  cluster.topology.uplink_bytes_per_second = 3.9e9;
  EXPECT_STREQ(chosen("ds_sync"), "rotating");
  EXPECT_NE(schedule_of("ds_sync", cluster).note().find("uplinks are narrower"), std::string::npos);
  EXPECT_STREQ(chosen("ds_sync:schedule=grid"), "grid");
  EXPECT_STREQ(chosen("ds_sync:radices=4x4"), "grid");
  cluster.topology.uplink_bytes_per_second = 4e9;
  cluster.topology.link_overrides = {
      {.place = {Place::Kind::rack, 2}, .bytes_per_second = 1e9, .extra_latency = 0}};
  EXPECT_STREQ(chosen("ds_sync"), "rotating") << "one narrow uplink";
  EXPECT_STREQ(chosen("ds_sync:radices=auto"), "rotating") << "the key's own default";
  cluster.topology.link_overrides = {};
  cluster.topology.paths = {
      {.a = {Place::Kind::rack, 0}, .b = {Place::Kind::rack, 1}, .link = {0, 1e9}}};
  EXPECT_STREQ(chosen("ds_sync"), "rotating") << "a narrow path between two racks";
  cluster.topology.paths = {};
  cluster.topology.racks = in_racks({6, 6, 4}).racks;
  cluster.topology.uplink_bytes_per_second = 1e9;
  EXPECT_STREQ(chosen("ds_sync"), "grid");
  EXPECT_NE(schedule_of("ds_sync", cluster).note().find("racks of equal size"), std::string::npos);
}

TEST(DsSync, RefusesKeysWithoutMeaning) {
  for (const char* spec : {"ds_sync:schedule=halves,radices=2x2", "ds_sync:cross_every=2",
                           "ds_sync:group=2", "ds_sync:seed=1", "ds_sync:schedule=spiral"})
    EXPECT_THROW(schedule(spec, 8), UsageError) << spec;
}

TEST(DsSync, RefusesRadicesThatAreNotNumbers) {
  for (const char* text : {"4x", "x4", "four", "4 x4", "99999999999"})
    EXPECT_THROW(schedule(std::string("ds_sync:radices=") + text, 16), UsageError) << text;
}

}  // namespace
}  // namespace huddle
