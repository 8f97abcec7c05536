#include "huddle/schedule/traffic.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

TEST(Traffic, PairsSendOnceAndRingsTwiceTheirShare) {
  EXPECT_EQ(group_traffic(1).messages, 0);
  EXPECT_EQ(group_traffic(1).bytes, 0);
  EXPECT_EQ(group_traffic(2).messages, 1);
  EXPECT_EQ(group_traffic(2).bytes, 1);
  EXPECT_EQ(ring_traffic(2).messages, 2);
  EXPECT_EQ(group_traffic(4).messages, 6);
  EXPECT_EQ(group_traffic(4).bytes, 1.5);
}

TEST(Traffic, OfGridsIsTheMeanOverPhases) {
  const ScheduleTraffic traffic = schedule_traffic(make_schedule({.radices = {2, 4}}, 8));
  EXPECT_DOUBLE_EQ(traffic.bytes, (1 + 1.5) / 2);
  EXPECT_DOUBLE_EQ(traffic.worst_bytes, 1.5);
  EXPECT_DOUBLE_EQ(traffic.messages, 3.5);
  EXPECT_DOUBLE_EQ(traffic.sequential_messages, 3.5);
}

TEST(Traffic, GivesIdleWorkersNothing) {
  const Schedule fixed = make_schedule({.kind = Kind::fixed}, 3);  // {0 1} {2}.
  const ScheduleTraffic traffic = schedule_traffic(fixed);
  EXPECT_DOUBLE_EQ(traffic.bytes, 2.0 / 3);
  EXPECT_DOUBLE_EQ(traffic.sequential_messages, 1);
}

TEST(Traffic, CountsGlobalAverages) {
  const ScheduleTraffic traffic =
      schedule_traffic(make_schedule({.kind = Kind::exchange, .global_every = 4}, 8));
  EXPECT_DOUBLE_EQ(traffic.bytes, (3 * 1 + 1.75) / 4);
  EXPECT_DOUBLE_EQ(traffic.sequential_messages, (3 * 1 + 14) / 4.0);
}

TEST(Traffic, OfRandomGroupsIsThatOfTheirSizes) {
  const ScheduleTraffic traffic =
      schedule_traffic(make_schedule({.kind = Kind::random, .group = 4}, 16));
  EXPECT_DOUBLE_EQ(traffic.bytes, 1.5);
  EXPECT_DOUBLE_EQ(traffic.sequential_messages, 6);
}

TEST(Traffic, OfGroupsThatMeetAtEveryThirdStepIsAThirdAStep) {
  const Schedule schedule = make_schedule({.kind = ScheduleOptions::Kind::exchange}, 8);
  const ScheduleTraffic always = schedule_traffic(schedule);
  const ScheduleTraffic rarely = schedule_traffic(schedule.with({.every = 3}));
  EXPECT_DOUBLE_EQ(rarely.bytes, always.bytes / 3);
  EXPECT_DOUBLE_EQ(rarely.messages, always.messages / 3);
  EXPECT_DOUBLE_EQ(rarely.worst_bytes, always.worst_bytes);
}

TEST(Traffic, CountsAllThatTravelsAtAMeeting) {
  const Schedule schedule = make_schedule({.kind = Kind::exchange}, 8);
  const ScheduleTraffic traffic = schedule_traffic(schedule.with({.bytes = 0.75, .averages = 2}));
  EXPECT_DOUBLE_EQ(traffic.bytes, 0.75);
  EXPECT_DOUBLE_EQ(traffic.worst_bytes, 0.75);
  EXPECT_DOUBLE_EQ(traffic.messages, 2);
  EXPECT_DOUBLE_EQ(traffic.sequential_messages, 2);
}

}  // namespace
}  // namespace huddle
