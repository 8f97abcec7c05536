#include "huddle/cluster/topology.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"

namespace huddle {
namespace {

TEST(Topology, IsOneRackOfAnyNumberByDefault) {
  const Topology topology;
  EXPECT_EQ(topology.rack_count(), 1);
  EXPECT_EQ(topology.rack_of({99}), 0);
  EXPECT_TRUE(topology.rack_sizes().empty());
  EXPECT_EQ(topology.equal_rack_size(), 0);
  EXPECT_EQ(racks_text(topology), "");
}

TEST(Topology, FillsRacksOfAnySizeInOrder) {
  const Topology topology = in_racks({3, 1, 2});
  EXPECT_EQ(topology.racks, (std::vector{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(topology.rack_count(), 3);
  EXPECT_EQ(topology.rack_of({3}), 1);
  EXPECT_EQ(topology.rack_sizes(), (std::vector{3, 1, 2}));
  EXPECT_EQ(topology.equal_rack_size(), 0);
  EXPECT_THROW(topology.rack_of({6}), LogicError);
}

TEST(Topology, TellsRacksOfEqualSizeInOrder) {
  EXPECT_EQ(in_racks({4, 4}).equal_rack_size(), 4);
  EXPECT_EQ(in_equal_racks({.racks = 3, .workers = 2}).racks, in_racks({2, 2, 2}).racks);
  EXPECT_EQ(in_racks({6}).equal_rack_size(), 6);
  EXPECT_EQ((Topology{.racks = {0, 1, 0, 1}}).equal_rack_size(), 0) << "not in order";
}

TEST(Topology, RefusesRacksThatCannotBe) {
  EXPECT_THROW(in_racks(std::vector<int>{}), UsageError);
  EXPECT_THROW(in_racks({4, 0, 2}), UsageError);
  EXPECT_THROW(in_racks({-4, 6}), UsageError);
  EXPECT_THROW(in_equal_racks({.racks = 0, .workers = 4}), UsageError);
  EXPECT_THROW(in_equal_racks({.racks = -2, .workers = -4}), UsageError);
  EXPECT_THROW(in_equal_racks({.racks = 2'000'000'000, .workers = 1}), UsageError);
  EXPECT_THROW(in_equal_racks({.racks = 65536, .workers = 65536}), UsageError);
}

TEST(Topology, ReadsAndWritesRacksAsTyped) {
  for (const char* text : {"", "2x5", "10x1", "1x10", "4+4+2", "9+1"})
    EXPECT_EQ(racks_text(parse_racks(text, 10)), text);
  EXPECT_EQ(racks_text(parse_racks("5+5", 10)), "2x5");
}

TEST(Topology, RefusesRacksThatDoNotMakeAllWorkers) {
  for (const char* text :
       {"3x4", "2x4x1", "8", "0x8", "-2x-4", "4+3", "8+0", "9+-1", "4+", "4+4x1"})
    EXPECT_THROW(parse_racks(text, 8), UsageError) << text;
  for (const char* text : {"3x3", "4+2"}) try {
      parse_racks(text, 8);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("--racks 2x4"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace huddle
