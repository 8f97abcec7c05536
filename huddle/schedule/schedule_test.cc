#include "huddle/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "huddle/base/error.h"
#include "tests/support/exchange_masks.h"

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

Group group(std::initializer_list<int> ids) {
  std::vector<WorkerId> members;
  for (const int id : ids) members.push_back(WorkerId{id});
  return Group(members);
}

std::vector<int> sizes(const Partition& partition) {
  std::vector<int> result;
  for (const Group& each : partition) result.push_back(each.size());
  return result;
}

// Every member in exactly one group, groups in order, and group_of in agreement.
void expect_partition(const Schedule& schedule, Step step) {
  const Partition partition = schedule.partition(step);
  std::vector<WorkerId> seen;
  for (std::size_t i = 0; i < partition.size(); ++i) {
    ASSERT_GT(partition[i].size(), 0);
    ASSERT_TRUE(i == 0 || partition[i - 1][0] < partition[i][0]);
    for (const WorkerId worker : partition[i]) {
      seen.push_back(worker);
      ASSERT_EQ(schedule.group_of(worker, step), partition[i]);
    }
  }
  ASSERT_EQ(Group(seen), schedule.members());
}

std::string reason(const ScheduleOptions& options, int workers) {
  try {
    make_schedule(options, workers);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Schedule, DividesAllWorkersInEveryPhase) {
  for (int workers = 1; workers <= 70; ++workers) {
    std::vector<ScheduleOptions> all = {{},
                                        {.kind = Kind::exchange},
                                        {.kind = Kind::exchange, .radix = 3},
                                        {.kind = Kind::fixed},
                                        {.kind = Kind::random, .seed = 3},
                                        {.global_every = 3},
                                        {.kind = Kind::random, .global_every = 2}};
    if (workers % 4 == 0) all.push_back({.kind = Kind::halves});
    for (int per_rack = 2; per_rack < workers; ++per_rack)
      if (workers % per_rack == 0) {
        all.push_back(
            {.kind = Kind::rotating,
             .topology = in_equal_racks({.racks = workers / per_rack, .workers = per_rack})});
        all.push_back(
            {.kind = Kind::rotating,
             .topology = in_equal_racks({.racks = workers / per_rack, .workers = per_rack}),
             .cross_every = 3});
      }
    for (const ScheduleOptions& options : all) {
      const Schedule schedule = make_schedule(options, workers);
      const std::int64_t period = schedule.period() == 0 ? 5 : schedule.period();
      const std::int64_t steps = std::min<std::int64_t>(period, 40);
      for (int step = 0; step < steps; ++step) expect_partition(schedule, Step{step});
    }
  }
}

TEST(Schedule, RepeatsAfterItsPeriodAndNotBefore) {
  for (const ScheduleOptions& options : std::vector<ScheduleOptions>{
           {},
           {.radices = {2, 2, 3}},
           {.global_every = 2},
           {.global_every = 5},
           {.radices = {2, 2, 3}, .global_every = 4},
           {.kind = Kind::rotating, .topology = in_racks({4, 4, 4}), .cross_every = 2},
           {.kind = Kind::rotating, .topology = in_racks({4, 4, 4}), .global_every = 3}}) {
    const Schedule schedule = make_schedule(options, 12);
    const auto repeats_after = [&](std::int64_t steps) {
      for (int step = 0; step < 60; ++step)
        if (schedule.partition(Step{step}) != schedule.partition(Step{step + steps})) return false;
      return true;
    };
    EXPECT_TRUE(repeats_after(schedule.period()));
    for (int shorter = 1; shorter < schedule.period(); ++shorter)
      EXPECT_FALSE(repeats_after(shorter)) << shorter << " of " << schedule.period();
  }
}

TEST(Schedule, IsAsSquareAsTheWorkersAllow) {
  const auto shape = [](int workers) {
    const Schedule schedule = make_schedule({}, workers);
    return std::pair(schedule.phase(0)[0].size(), schedule.phase(1)[0].size());
  };
  EXPECT_EQ(shape(8), std::pair(2, 4));
  EXPECT_EQ(shape(12), std::pair(3, 4));
  EXPECT_EQ(shape(16), std::pair(4, 4));
  EXPECT_EQ(shape(1024), std::pair(32, 32));
  EXPECT_TRUE(make_schedule({}, 16).note().empty());
}

TEST(Schedule, TakesTheAuthorsTableForFourWorkers) {
  const Schedule schedule = make_schedule({}, 4);
  EXPECT_EQ(schedule.phase(1), (Partition{group({0, 3}), group({1, 2})}));
  EXPECT_FALSE(schedule.note().empty());
  const Schedule asked = make_schedule({.radices = {2, 2}}, 4);
  EXPECT_EQ(asked.phase(1), (Partition{group({0, 2}), group({1, 3})}));
}

TEST(Schedule, FillsRaggedGridsAsSpecified) {
  struct Row {
    int workers;
    std::vector<int> rows, columns;
  };
  for (const Row& row : std::vector<Row>{{3, {2, 1}, {2, 1}},
                                         {5, {3, 2}, {2, 2, 1}},
                                         {7, {4, 3}, {2, 2, 2, 1}},
                                         {11, {4, 4, 3}, {3, 3, 3, 2}},
                                         {13, {7, 6}, {2, 2, 2, 2, 2, 2, 1}},
                                         {19, {5, 5, 5, 4}, {4, 4, 4, 4, 3}},
                                         {22, {6, 6, 5, 5}, {4, 4, 4, 4, 4, 2}}}) {
    const Schedule schedule = make_schedule({}, row.workers);
    EXPECT_EQ(sizes(schedule.phase(0)), row.rows);
    EXPECT_EQ(sizes(schedule.phase(1)), row.columns);
    EXPECT_FALSE(schedule.note().empty());
  }
  EXPECT_EQ(make_schedule({}, 2).phase(0), (Partition{group({0, 1})}));
  EXPECT_EQ(make_schedule({}, 2).period(), 1);
  EXPECT_EQ(make_schedule({}, 1).phase(0), (Partition{group({0})}));
}

TEST(Schedule, ExchangesWithMasksFromTheEnds) {
  const Schedule schedule = make_schedule({.kind = Kind::exchange}, 16);
  const std::vector<int> masks = exchange_masks(16);
  EXPECT_EQ(masks, (std::vector{1, 8, 4, 2}));
  for (int phase = 0; phase < 4; ++phase)
    for (int id = 0; id < 16; ++id)
      EXPECT_EQ(schedule.group_of(WorkerId{id}, Step{phase}),
                group({id, id ^ masks[static_cast<std::size_t>(phase)]}));
}

TEST(Schedule, ExchangesInMixedRadixWhereNoPowerFits) {
  const Schedule twelve = make_schedule({.kind = Kind::exchange}, 12);
  EXPECT_EQ(twelve.period(), 3);
  EXPECT_EQ(sizes(twelve.phase(0)).front(), 2);
  EXPECT_EQ(sizes(twelve.phase(1)).front(), 3);
  EXPECT_NE(twelve.note().find("2x2x3"), std::string::npos) << twelve.note();
  const Schedule prime = make_schedule({.kind = Kind::exchange}, 13);
  EXPECT_EQ(prime.phase(0), make_schedule({}, 13).phase(0));
  EXPECT_FALSE(prime.note().empty());
}

TEST(Schedule, ThinsCrossingsOfRacks) {
  const Schedule schedule =
      make_schedule({.kind = Kind::rotating, .topology = in_racks({3, 3}), .cross_every = 2}, 6);
  EXPECT_EQ(schedule.period(), 6);
  EXPECT_EQ(schedule.phase(0), (Partition{group({0, 3}), group({1, 2}), group({4, 5})}));
  EXPECT_EQ(schedule.phase(1), (Partition{group({0, 1, 2}), group({3, 4, 5})}));
  EXPECT_EQ(schedule.phase(2), (Partition{group({0, 2}), group({1, 4}), group({3, 5})}));
}

TEST(Schedule, ReplacesRotationInRacksOfTwo) {
  const Schedule schedule =
      make_schedule({.kind = Kind::rotating, .topology = in_racks({2, 2, 2})}, 6);
  EXPECT_EQ(schedule.phase(0), (Partition{group({0, 1}), group({2, 3}), group({4, 5})}));
  EXPECT_EQ(schedule.phase(1), (Partition{group({0, 2, 4}), group({1, 3, 5})}));
  EXPECT_NE(schedule.note().find("never mixes"), std::string::npos);
}

TEST(Schedule, DrawsRandomGroupsFromSeedAndStep) {
  const ScheduleOptions options{.kind = Kind::random, .group = 4, .seed = 5};
  const Schedule schedule = make_schedule(options, 18);
  EXPECT_EQ(schedule.period(), 0);
  std::set<Partition> seen;
  for (int step = 0; step < 50; ++step) {
    const Partition partition = schedule.partition(Step{step});
    EXPECT_EQ(partition, make_schedule(options, 18).partition(Step{step}));
    std::vector<int> found = sizes(partition);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector{3, 3, 4, 4, 4}));
    seen.insert(partition);
  }
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_NE(schedule.partition(Step{0}),
            make_schedule({.kind = Kind::random, .group = 4, .seed = 6}, 18).partition(Step{0}));
}

TEST(Schedule, AveragesAllEverySoManyStepsWithoutLosingAPhase) {
  const Schedule plain = make_schedule({.radices = {2, 2}}, 4);
  const Schedule schedule = make_schedule({.radices = {2, 2}, .global_every = 2}, 4);
  EXPECT_EQ(schedule.period(), 4);
  EXPECT_EQ(schedule.phase(0), plain.phase(0));
  EXPECT_EQ(schedule.phase(1), (Partition{group({0, 1, 2, 3})}));
  EXPECT_EQ(schedule.phase(2), plain.phase(1));
  EXPECT_EQ(make_schedule({.global_every = 1}, 16).period(), 1);
}

TEST(Schedule, CountsPeriodsBeyondAnInt) {
  const Schedule schedule = make_schedule({.kind = Kind::rotating,
                                           .topology = in_racks({215, 215}),
                                           .cross_every = 1000,
                                           .global_every = 10000},
                                          430);
  EXPECT_EQ(schedule.period(), 10000LL * 215 * 1000);
  EXPECT_EQ(schedule.phase(schedule.period() + 1000), schedule.phase(1000));
  const std::string sentence = reason({.kind = Kind::rotating,
                                       .topology = in_racks({1000000, 1000000}),
                                       .cross_every = 2000000011,
                                       .global_every = 2000000000},
                                      2000000);
  EXPECT_NE(sentence.find("global_every=100"), std::string::npos) << sentence;
}

TEST(Schedule, TurnsAreAlikeButForNames) {
  for (const ScheduleOptions& options : std::vector<ScheduleOptions>{
           {},
           {.radices = {2, 2, 3}},
           {.kind = Kind::rotating, .topology = in_racks({4, 4, 4}), .cross_every = 3},
           {.kind = Kind::random, .group = 5}}) {
    const Schedule schedule = make_schedule(options, 12);
    const auto sorted = [&](std::int64_t phase) {
      std::vector<int> found = sizes(schedule.cycle_phase(phase));
      std::sort(found.begin(), found.end());
      return found;
    };
    for (int phase = 0; phase < 2 * schedule.turn(); ++phase)
      EXPECT_EQ(sorted(phase), sorted(phase + schedule.turn()));
  }
}

TEST(Schedule, NeverChangesFixedGroups) {
  const Schedule schedule = make_schedule({.kind = Kind::fixed}, 16);
  EXPECT_EQ(schedule.period(), 1);
  EXPECT_EQ(schedule.phase(0), make_schedule({}, 16).phase(0));
  EXPECT_EQ(sizes(make_schedule({.kind = Kind::fixed, .group = 3}, 7).phase(0)),
            (std::vector{3, 2, 2}));
}

TEST(Schedule, PlacesAnyMembersByPosition) {
  const Schedule schedule(grid_pattern({2, 2}), group({1, 4, 6, 9}));
  EXPECT_EQ(schedule.phase(0), (Partition{group({1, 4}), group({6, 9})}));
  EXPECT_EQ(schedule.group_of(WorkerId{9}, Step{1}), group({4, 9}));
}

TEST(Schedule, RefusesWhatCannotBeAndNamesWhatCan) {
  EXPECT_NE(reason({.radices = {4, 3}}, 16).find("radices=4x4"), std::string::npos);
  EXPECT_NE(reason({.radices = {16, 1}}, 16).find("at least 2"), std::string::npos);
  EXPECT_NE(reason({.radices = {2, 3}}, 7).find("no radices"), std::string::npos);
  EXPECT_NE(reason({.kind = Kind::authors}, 8).find("schedule=grid"), std::string::npos);
  EXPECT_NE(reason({.kind = Kind::halves}, 6).find("example 4"), std::string::npos);
  EXPECT_NE(reason({.kind = Kind::rotating}, 8).find("--racks 2x4"), std::string::npos);
  const std::string uneven = reason({.kind = Kind::rotating, .topology = in_racks({3, 3, 2})}, 8);
  EXPECT_NE(uneven.find("3+3+2"), std::string::npos) << uneven;
  EXPECT_NE(uneven.find("schedule=grid"), std::string::npos) << uneven;
  const Topology by_turns{.racks = {0, 1, 0, 1, 0, 1}};
  EXPECT_NE(reason({.kind = Kind::rotating, .topology = by_turns}, 6).find("filled in order"),
            std::string::npos);
  const Topology of_one = in_racks({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_NE(reason({.kind = Kind::rotating, .topology = of_one}, 8), "accepted");
  EXPECT_NE(reason({.kind = Kind::exchange, .radix = 1}, 8).find("radix=2"), std::string::npos);
  EXPECT_NE(reason({.kind = Kind::random, .group = 9}, 8).find("group=2"), std::string::npos);
  EXPECT_NE(reason({.kind = Kind::random, .group = 1}, 8), "accepted");
  EXPECT_NE(reason({.kind = Kind::fixed, .radices = {2, 4}, .group = 2}, 8), "accepted");
  EXPECT_NE(reason({}, 0), "accepted");
  EXPECT_NE(reason({.global_every = -1}, 8), "accepted");
}

TEST(TablePattern, RefusesPhasesThatAreNoPartition) {
  EXPECT_THROW(table_pattern({}), UsageError);
  EXPECT_THROW(table_pattern({{{0, 1}, {1}}}), UsageError);
  EXPECT_THROW(table_pattern({{{0, 2}}}), UsageError);
  EXPECT_THROW(table_pattern({{{0}, {}}}), UsageError);
  EXPECT_THROW(table_pattern({{{0, 1}}, {{0, 1, 2}}}), UsageError);
  EXPECT_THROW(table_pattern({{{-1, 0}}}), UsageError);
}

TEST(Schedule, AnswersQuicklyForAThousandWorkers) {
  const Schedule schedule = make_schedule({.kind = Kind::exchange}, 1024);
  std::int64_t members = 0;
  for (int step = 0; step < 100; ++step)
    for (int worker = 0; worker < 1024; ++worker)
      members += schedule.group_of(WorkerId{worker}, Step{step}).size();
  EXPECT_EQ(members, 2 * 1024 * 100);
}

}  // namespace
}  // namespace huddle
