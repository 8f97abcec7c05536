#include "huddle/strategy/p_reduce/sync_graph.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"

namespace huddle {
namespace {

std::vector<WorkerId> ids(std::initializer_list<int> values) {
  std::vector<WorkerId> result;
  for (const int value : values) result.push_back(WorkerId{value});
  return result;
}

SyncGraph graph_of(int workers) {
  SyncGraph graph;
  for (int worker = 0; worker < workers; ++worker) graph.enter(WorkerId{worker});
  return graph;
}

bool are_joined(const SyncGraph& graph, int one, int other) {
  return graph.component_of(WorkerId{one}) == graph.component_of(WorkerId{other});
}

TEST(SyncGraph, JoinsWhoeverSharedAGroupDirectlyOrNot) {
  SyncGraph graph = graph_of(6);
  EXPECT_EQ(graph.components(), 6);
  graph.add(ids({0, 1, 2}));
  graph.add(ids({4, 3}));
  graph.add(ids({2, 3}));
  EXPECT_EQ(graph.components(), 2);
  EXPECT_TRUE(are_joined(graph, 0, 4));
  EXPECT_FALSE(are_joined(graph, 0, 5));
}

TEST(SyncGraph, ForgetsTheOldestGroups) {
  SyncGraph graph = graph_of(3);
  graph.add(ids({0, 1}));
  graph.add(ids({1, 2}));
  graph.keep(1);
  EXPECT_FALSE(are_joined(graph, 0, 1));
  EXPECT_TRUE(are_joined(graph, 1, 2));
  graph.keep(0);
  EXPECT_EQ(graph.components(), 3);
}

TEST(SyncGraph, TellsWhetherAGroupWouldConnectIt) {
  SyncGraph graph = graph_of(5);
  graph.add(ids({0, 1}));
  graph.add(ids({2, 3}));
  EXPECT_FALSE(graph.connected_by(ids({0, 2})));
  EXPECT_FALSE(graph.connected_by(ids({0, 1, 4})));
  EXPECT_TRUE(graph.connected_by(ids({1, 4, 3})));
  EXPECT_EQ(graph.components(), 3) << "asking must not join";
  graph.add(ids({1, 4, 3}));
  EXPECT_TRUE(graph.connected_by(ids({0, 1})));
  EXPECT_TRUE(SyncGraph().connected_by({}));
}

TEST(SyncGraph, LosesTheEdgesOfThoseWhoLeave) {
  SyncGraph graph = graph_of(3);
  graph.add(ids({0, 1}));
  graph.add(ids({1, 2}));
  graph.leave(WorkerId{1});
  EXPECT_EQ(graph.components(), 2);
  graph.enter(WorkerId{1});
  EXPECT_EQ(graph.components(), 3) << "who returns has met nobody";
  EXPECT_THROW(graph.enter(WorkerId{1}), LogicError);
  EXPECT_THROW(graph.leave(WorkerId{7}), LogicError);
}

TEST(SyncGraph, WithdrawsAMemberFromOneGroup) {
  SyncGraph graph = graph_of(4);
  graph.add(ids({0, 1}));
  graph.add(ids({1, 2, 3}));
  graph.keep(1);
  graph.withdraw(0, WorkerId{1});
  EXPECT_TRUE(are_joined(graph, 1, 2)) << "group 0 is forgotten";
  graph.withdraw(1, WorkerId{1});
  EXPECT_FALSE(are_joined(graph, 1, 2));
  EXPECT_TRUE(are_joined(graph, 2, 3));
  EXPECT_THROW(graph.withdraw(2, WorkerId{1}), LogicError);
}

}  // namespace
}  // namespace huddle
