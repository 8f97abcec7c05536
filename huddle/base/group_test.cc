#include "huddle/base/group.h"

#include <gtest/gtest.h>

#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

std::vector<int> values(const Group& group) {
  std::vector<int> all;
  for (const WorkerId worker : group) all.push_back(worker.value);
  return all;
}

TEST(Group, IsEmptyByDefault) {
  const Group group;
  EXPECT_EQ(group.size(), 0);
  EXPECT_EQ(group.begin(), group.end());
  EXPECT_FALSE(group.contains({0}));
}

TEST(Group, SortsItsMembers) {
  const Group group({{7}, {0}, {3}});
  EXPECT_EQ(values(group), (std::vector<int>{0, 3, 7}));
  EXPECT_EQ(group.size(), 3);
  EXPECT_EQ(group[0], WorkerId{0});
  EXPECT_EQ(group[2], WorkerId{7});
}

TEST(Group, RefusesAWorkerTwice) {
  EXPECT_THROW(Group({{1}, {1}}), LogicError);
  EXPECT_THROW(Group({{1}, {0}, {1}}), LogicError);
}

TEST(Group, RefusesANegativeMember) {
  EXPECT_THROW(Group({{0}, {-1}}), LogicError);
  EXPECT_NO_THROW(Group({WorkerId{0}}));
}

TEST(Group, HoldsEveryone) {
  EXPECT_EQ(Group::everyone(0), Group());
  EXPECT_EQ(values(Group::everyone(1)), (std::vector<int>{0}));
  EXPECT_EQ(values(Group::everyone(5)), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_THROW(Group::everyone(-1), LogicError);
}

TEST(Group, ContainsItsMembersOnly) {
  const Group group({{2}, {5}, {11}});
  for (int worker = -1; worker <= 12; ++worker)
    EXPECT_EQ(group.contains({worker}), worker == 2 || worker == 5 || worker == 11) << worker;
}

TEST(Group, FindsTheirPositions) {
  const Group group({{11}, {2}, {5}});
  for (int position = 0; position < group.size(); ++position)
    EXPECT_EQ(group.position_of(group[position]), position);
}

TEST(Group, HasNoPositionForStrangers) {
  const Group group({{2}, {5}});
  for (const int stranger : {-1, 0, 3, 6}) EXPECT_THROW(group.position_of({stranger}), LogicError);
  EXPECT_THROW(Group().position_of({0}), LogicError);
}

TEST(Group, ComparesByMembersWhateverTheirOrder) {
  EXPECT_EQ(Group({{1}, {2}}), Group({{2}, {1}}));
  EXPECT_NE(Group({{1}, {2}}), Group({{1}, {3}}));
  EXPECT_LT(Group({{1}, {2}}), Group({{1}, {3}}));
  EXPECT_LT(Group(), Group({WorkerId{0}}));
}

}  // namespace
}  // namespace huddle
