#include "huddle/strategy/p_reduce/group_former.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "huddle/base/error.h"

namespace huddle {
namespace {

using Filter = GroupFormerOptions::Filter;
using Groups = GroupFormer::Groups;

// Groups as text: "0+1 3+2*", a star for a bridge and a point for a last group.
std::string text(const Groups& groups) {
  std::string result;
  for (const FormedGroup& group : groups) {
    if (!result.empty()) result += " ";
    for (std::size_t i = 0; i < group.members.size(); ++i)
      result += (i == 0 ? "" : "+") + std::to_string(group.members[i].value);
    result += group.bridge ? "*" : "";
    result += group.last ? "." : "";
  }
  return result;
}

// Reports one after another, all in one iteration.
std::string report(GroupFormer& former, std::initializer_list<int> workers,
                   std::int64_t iteration = 1) {
  Groups all;
  for (const int worker : workers)
    for (FormedGroup& group :
         former.ready({WorkerId{worker}, former.incarnation(WorkerId{worker})}, iteration))
      all.push_back(std::move(group));
  return text(all);
}

std::string queue_of(const GroupFormer& former) {
  std::string result;
  for (const Waiting& each : former.waiting()) result += std::to_string(each.worker.value);
  return result;
}

GroupFormer unfiltered(int workers, int group) {
  return GroupFormer({.workers = workers, .group = group, .filter = Filter::off});
}

std::string reason(const GroupFormerOptions& options) {
  try {
    GroupFormer{options};
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string complaint(const std::function<void()>& event) {
  try {
    event();
  } catch (const LogicError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(GroupFormer, GroupsTheFirstWhoWait) {
  GroupFormer former = unfiltered(5, 3);
  EXPECT_EQ(report(former, {4, 1}), "");
  EXPECT_EQ(queue_of(former), "41");
  EXPECT_EQ(report(former, {0, 2, 4, 3}), "4+1+0 2+4+3");
  EXPECT_EQ(queue_of(former), "");
}

TEST(GroupFormer, CarriesIterationsAndCountsGroups) {
  GroupFormer former = unfiltered(3, 2);
  former.ready({WorkerId{2}}, 7);
  const Groups groups = former.ready({WorkerId{0}}, 4);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].id, GroupId{0});
  EXPECT_EQ(groups[0].iterations, (std::vector<std::int64_t>{7, 4}));
  EXPECT_EQ(groups[0].steps, 2);
  former.ready({WorkerId{0}}, 8);
  EXPECT_EQ(former.ready({WorkerId{1}}, 1)[0].id, GroupId{1});
  EXPECT_EQ(former.counters().groups, 2);
  EXPECT_EQ(former.counters().steps, 4);
  EXPECT_DOUBLE_EQ(former.counters().mean_size(), 2);
}

TEST(GroupFormer, FollowsTheTraceOfFourWorkersInLockstep) {
  GroupFormer off = unfiltered(4, 2);
  GroupFormer on({.workers = 4, .group = 2, .window = 3});
  for (int round = 0; round < 6; ++round) {
    EXPECT_EQ(report(off, {0, 1, 2, 3}), "0+1 2+3");
    EXPECT_EQ(report(on, {0, 1}), round % 2 == 0 ? "0+1" : "");
    EXPECT_EQ(on.holding(), round % 2 == 1);
    EXPECT_EQ(report(on, {2, 3}), round % 2 == 0 ? "2+3" : "0+2* 1+3");
  }
  EXPECT_EQ(on.counters().bridges, 3);
  EXPECT_EQ(on.counters().holds, 3);
  EXPECT_EQ(off.counters().bridges + off.counters().holds, 0);
}

TEST(GroupFormer, BridgesAsManyComponentsAsThereIsRoomFor) {
  GroupFormer former({.workers = 6, .group = 3, .window = 3});
  EXPECT_EQ(report(former, {0, 1, 2, 0, 1, 2}), "0+1+2 0+1+2");
  GroupFormer other = former;
  EXPECT_EQ(report(former, {0, 1, 2}), "");
  EXPECT_TRUE(former.holding());
  EXPECT_EQ(report(former, {3}), "0+3+1*");
  // The same three as the first of the queue are no bridge, and stay in its order.
  EXPECT_EQ(report(other, {0, 1, 3}), "0+1+3");
}

TEST(GroupFormer, KnowsItsWindows) {
  EXPECT_EQ(smallest_window({.workers = 8, .group = 3}), 4);
  EXPECT_EQ(smallest_window({.workers = 1, .group = 1}), 1);
  const auto window = [](int workers, int group) {
    return default_window({.workers = workers, .group = group});
  };
  EXPECT_EQ(window(8, 2), 15);
  EXPECT_EQ(window(8, 3), 10);
  EXPECT_EQ(window(8, 5), 7);
  EXPECT_EQ(window(16, 4), 16);
  EXPECT_EQ(window(32, 8), 31);
  EXPECT_EQ(GroupFormer({.workers = 8, .group = 3}).window(), 10);
  EXPECT_EQ(GroupFormer({.workers = 8, .group = 3, .window = 4}).window(), 4);
  EXPECT_EQ(unfiltered(8, 3).window(), 0);
}

TEST(GroupFormer, RefusesWhatCannotWorkAndSaysWhatCan) {
  EXPECT_NE(reason({.workers = 4, .group = 5}).find("groups of 5 from 4 workers"),
            std::string::npos);
  EXPECT_NE(reason({.workers = 4, .group = 0}).find("2 to 4"), std::string::npos);
  EXPECT_NE(reason({.workers = 1, .group = 2}).find("2 or more workers"), std::string::npos);
  EXPECT_NE(reason({.workers = 4, .group = 1}).find("2 or more"), std::string::npos);
  EXPECT_NE(reason({.workers = 8, .group = 2, .window = 6}).find("= 7 groups"), std::string::npos);
  EXPECT_NE(reason({.workers = 8, .group = 2, .window = -1}).find("= 7 groups"), std::string::npos);
  EXPECT_NE(reason({.workers = 8, .group = 2, .budget = -3}).find("-3"), std::string::npos);
  EXPECT_EQ(reason({.workers = 8, .group = 2, .window = 7}), "accepted");
  EXPECT_EQ(reason({.workers = 8, .group = 2, .filter = Filter::off, .window = 6}), "accepted");
  EXPECT_EQ(reason({.workers = 5, .group = 1, .filter = Filter::off}), "accepted");
}

TEST(GroupFormer, RefusesEventsThatMakeNoSenseAndStaysAsItWas) {
  GroupFormer former = unfiltered(4, 3);
  report(former, {0});
  EXPECT_NE(complaint([&] { former.ready({WorkerId{0}}, 2); }).find("waits for a group already"),
            std::string::npos);
  EXPECT_NE(complaint([&] { former.ready({WorkerId{4}}, 1); }).find("worker 4"), std::string::npos);
  EXPECT_NE(complaint([&] { former.ready({WorkerId{-1}}, 1); }), "accepted");
  EXPECT_NE(complaint([&] {
              former.ready({WorkerId{1}, 1}, 1);
            }).find("never joined"),
            std::string::npos);
  EXPECT_NE(complaint([&] { former.lost({WorkerId{9}}); }), "accepted");
  EXPECT_NE(complaint([&] { former.aborted({0}, {WorkerId{0}}); }).find("group 0"),
            std::string::npos);
  former.left({WorkerId{1}});
  EXPECT_NE(complaint([&] { former.left({WorkerId{1}}); }).find("second time"), std::string::npos);
  EXPECT_NE(complaint([&] { former.ready({WorkerId{1}}, 1); }).find("has left"), std::string::npos);
  EXPECT_EQ(queue_of(former), "0");
  EXPECT_EQ(former.counters().steps, 1);
  EXPECT_EQ(report(former, {2, 3}), "0+2+3");
}

TEST(GroupFormer, ShrinksGroupsWithTheWorkersThatAreLeft) {
  GroupFormer former({.workers = 5, .group = 3});
  EXPECT_EQ(report(former, {0, 1}), "");
  EXPECT_EQ(text(former.left({WorkerId{2}})), "");
  EXPECT_EQ(text(former.lost({WorkerId{3}})), "");
  EXPECT_EQ(former.group_size(), 3);
  EXPECT_EQ(text(former.lost({WorkerId{4}})), "0+1");
  EXPECT_EQ(former.group_size(), 2);
  EXPECT_EQ(report(former, {1}), "");
  EXPECT_EQ(text(former.left({WorkerId{0}})), "1");
  EXPECT_EQ(report(former, {1, 1, 1}), "1 1 1");
  EXPECT_EQ(text(former.lost({WorkerId{1}})), "");
  EXPECT_EQ(former.group_size(), 0);
}

TEST(GroupFormer, DropsAQueuedWorkerThatIsLost) {
  GroupFormer former = unfiltered(6, 3);
  report(former, {0, 1});
  EXPECT_EQ(text(former.lost({WorkerId{0}})), "");
  EXPECT_EQ(queue_of(former), "1");
  EXPECT_EQ(report(former, {2, 3}), "1+2+3");
}

TEST(GroupFormer, EndsAHoldWhenTheOneItWaitedForIsLost) {
  GroupFormer former({.workers = 3, .group = 2, .window = 2});
  EXPECT_EQ(report(former, {0, 1}), "0+1");
  EXPECT_EQ(report(former, {0, 1}), "");
  EXPECT_TRUE(former.holding());
  EXPECT_EQ(text(former.lost({WorkerId{2}})), "0+1");
  EXPECT_FALSE(former.holding());
}

TEST(GroupFormer, ForgetsMeetingsOfALostWorker) {
  GroupFormer former({.workers = 4, .group = 2, .window = 3});
  EXPECT_EQ(report(former, {0, 1, 1, 2}), "0+1 1+2");
  former.lost({WorkerId{1}});
  // Worker 1 was all that joined 0 and 2; without it three workers are three components.
  EXPECT_EQ(report(former, {0, 2}), "0+2");
  EXPECT_EQ(report(former, {0, 2}), "");
  EXPECT_TRUE(former.holding());
  EXPECT_EQ(report(former, {3}), "0+3*");
}

TEST(GroupFormer, RequeuesThoseWhoAbortInTheirOldOrder) {
  GroupFormer former = unfiltered(8, 4);
  EXPECT_EQ(report(former, {3, 2, 1, 0}, 5), "3+2+1+0");
  EXPECT_EQ(report(former, {4, 5}, 9), "");
  former.lost({WorkerId{2}});
  EXPECT_EQ(text(former.aborted({0}, {WorkerId{0}})), "");
  EXPECT_EQ(queue_of(former), "045");
  const Groups groups = former.aborted({0}, {WorkerId{3}});
  EXPECT_EQ(text(groups), "3+0+4+5");
  EXPECT_EQ(groups[0].iterations, (std::vector<std::int64_t>{5, 5, 9, 9}));
  EXPECT_EQ(groups[0].steps, 6) << "an aborted group takes no further step";
  EXPECT_EQ(former.counters().aborted, 1);
  EXPECT_EQ(report(former, {1}), "") << "worker 1 had finished and goes on";
  EXPECT_NE(complaint([&] { former.aborted({0}, {WorkerId{1}}); }), "accepted");
  EXPECT_NE(complaint([&] { former.aborted({0}, {WorkerId{3}}); }), "accepted");
}

TEST(GroupFormer, DoesNotCountAMeetingThatWasAborted) {
  GroupFormer former({.workers = 3, .group = 2, .window = 3});
  EXPECT_EQ(report(former, {0, 1, 1, 2}), "0+1 1+2");
  GroupFormer finished = former;
  former.aborted({1}, {WorkerId{1}});
  // In the copy everybody is connected. Here worker 2 has met nobody.
  EXPECT_EQ(report(finished, {1, 0}), "1+0");
  EXPECT_EQ(report(former, {0}), "");
  EXPECT_TRUE(former.holding());
}

TEST(GroupFormer, IgnoresWhatALostLifeStillSends) {
  GroupFormer former = unfiltered(4, 2);
  report(former, {0, 1});
  former.lost({WorkerId{0}});
  EXPECT_EQ(text(former.ready({WorkerId{0}}, 2)), "");
  EXPECT_EQ(text(former.aborted({0}, {WorkerId{0}})), "");
  EXPECT_EQ(text(former.left({WorkerId{0}})), "");
  EXPECT_EQ(text(former.lost({WorkerId{0}})), "");
  former.joined(WorkerId{0});
  EXPECT_EQ(former.incarnation(WorkerId{0}), 1);
  EXPECT_EQ(text(former.ready({WorkerId{0}, 0}, 2)), "");
  EXPECT_EQ(text(former.lost({WorkerId{0}, 0})), "");
  EXPECT_EQ(queue_of(former), "");
  EXPECT_EQ(text(former.ready({WorkerId{0}, 1}, 2)), "");
  EXPECT_EQ(queue_of(former), "0");
  EXPECT_EQ(former.counters().steps, 3);
}

TEST(GroupFormer, TakesTheEndOfAWorkerThatLeftForNoLoss) {
  GroupFormer former = unfiltered(3, 2);
  former.left({WorkerId{0}});
  EXPECT_EQ(text(former.lost({WorkerId{0}})), "");
  EXPECT_EQ(report(former, {1, 2}), "1+2");
}

TEST(GroupFormer, WaitsForNobodysFirstStep) {
  GroupFormer former({.workers = 3, .group = 3});
  former.lost({WorkerId{2}});
  former.joined(WorkerId{2});
  EXPECT_EQ(former.group_size(), 2);
  EXPECT_EQ(report(former, {0, 1}), "0+1");
  EXPECT_EQ(report(former, {2}), "");
  EXPECT_EQ(former.group_size(), 3);
  EXPECT_EQ(report(former, {0, 1}), "2+0+1");
}

TEST(GroupFormer, BridgesToANewcomerAtOnce) {
  GroupFormer former({.workers = 3, .group = 2, .window = 2});
  EXPECT_EQ(report(former, {0, 1, 1, 2}), "0+1 1+2");
  former.joined(WorkerId{3});
  EXPECT_EQ(report(former, {0}), "");
  EXPECT_EQ(report(former, {3}), "0+3");
  EXPECT_EQ(former.window(), 3) << "two groups of two cannot connect four workers";
}

TEST(GroupFormer, FiltersAfterAJoinOnceTheLongerWindowIsFull) {
  GroupFormer former({.workers = 3, .group = 2});
  EXPECT_EQ(former.window(), 5);
  EXPECT_EQ(report(former, {0, 2, 0, 1, 0, 1, 0, 1, 0, 1}), "0+2 0+1 0+1 0+1 0+1");
  former.joined(WorkerId{3});
  EXPECT_EQ(report(former, {3, 2}), "3+2");
  EXPECT_EQ(former.window(), 7);
  EXPECT_EQ(report(former, {0, 1}), "0+1") << "five of the six groups before it are known";
  EXPECT_EQ(report(former, {0, 1}), "");
  EXPECT_TRUE(former.holding());
  EXPECT_EQ(report(former, {2}), "0+2*");
}

TEST(GroupFormer, TakesAJoinOfALivingWorkerForItsLoss) {
  GroupFormer former = unfiltered(3, 3);
  report(former, {0, 1});
  EXPECT_EQ(text(former.joined(WorkerId{2})), "0+1");
  EXPECT_EQ(former.incarnation(WorkerId{2}), 1);
  EXPECT_EQ(text(former.joined(WorkerId{7})), "");
  EXPECT_EQ(former.incarnation(WorkerId{7}), 0);
  EXPECT_EQ(former.incarnation(WorkerId{6}), -1);
}

TEST(GroupFormer, EmptiesTheQueueAtTheEnd) {
  GroupFormer former({.workers = 6, .group = 3, .window = 3});
  EXPECT_EQ(report(former, {0, 1, 2, 3, 4}), "0+1+2");
  EXPECT_EQ(text(former.end()), "3+4.");
  EXPECT_TRUE(former.ended());
  EXPECT_EQ(report(former, {5, 0}), "5. 0.");
  EXPECT_EQ(text(former.end()), "");
}

TEST(GroupFormer, EndsWhenTheBudgetIsSpent) {
  GroupFormer former({.workers = 4, .group = 3, .filter = Filter::off, .budget = 5});
  EXPECT_EQ(report(former, {0, 1, 2, 3}), "0+1+2");
  EXPECT_FALSE(former.ended());
  const Groups groups = former.ready({WorkerId{1}}, 2);
  EXPECT_EQ(text(groups), "3+1.");
  EXPECT_EQ(groups[0].steps, 5);
  EXPECT_EQ(report(former, {0, 2}), "0. 2.");
}

TEST(GroupFormer, EndsAHoldAtTheEnd) {
  GroupFormer former({.workers = 4, .group = 2, .window = 3});
  report(former, {0, 1, 2, 3, 0, 1});
  EXPECT_TRUE(former.holding());
  EXPECT_EQ(text(former.end()), "0+1.");
  former.lost({WorkerId{1}});
  EXPECT_EQ(text(former.aborted({2}, {WorkerId{0}})), "0.");
}

}  // namespace
}  // namespace huddle
