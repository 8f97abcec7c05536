// The group former among workers of different speeds, in virtual time with free communication.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "huddle/base/random.h"
#include "huddle/strategy/p_reduce/group_former.h"
#include "huddle/strategy/p_reduce/meeting_rates.h"
#include "huddle/strategy/p_reduce/staleness.h"

namespace huddle {
namespace {

using Filter = GroupFormerOptions::Filter;

// How long a worker's next step takes.
using StepTime = std::function<Seconds(int worker, Random& random)>;

struct Simulation {
  std::vector<FormedGroup> groups;
  GroupFormerCounters counters;
  double steps_per_second = 0;
};

// Events in order of time, ties by worker.
Simulation simulate(const GroupFormerOptions& options, const StepTime& pace, int steps) {
  GroupFormer former(options);
  Random random(1);
  using Event = std::pair<Time, int>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<std::int64_t> iterations(static_cast<std::size_t>(options.workers), 0);
  for (int worker = 0; worker < options.workers; ++worker)
    events.emplace(pace(worker, random), worker);
  Simulation result;
  Time now = 0;
  for (int step = 0; step < steps; ++step) {
    const int worker = events.top().second;
    now = events.top().first;
    events.pop();
    for (FormedGroup& group :
         former.ready({WorkerId{worker}}, ++iterations[static_cast<std::size_t>(worker)])) {
      for (const WorkerId member : group.members) {
        iterations[static_cast<std::size_t>(member.value)] = new_iteration(group.iterations);
        events.emplace(now + pace(member.value, random), member.value);
      }
      result.groups.push_back(std::move(group));
    }
  }
  result.counters = former.counters();
  result.steps_per_second = steps / now;
  return result;
}

Seconds equal(int, Random&) { return 1; }
Seconds jitter(int, Random& random) { return 1 + 0.1 * std::abs(random.normal()); }
Seconds one_twice_as_slow(int worker, Random&) { return worker == 7 ? 2 : 1; }
Seconds two_thrice_as_slow(int worker, Random&) { return worker >= 6 ? 3 : 1; }
Seconds pauses(int, Random& random) {
  const auto pause = [&] { return random.uniform() < 0.1 ? 1.0 : 0.0; };
  return 1 + pause() + pause();
}

double rho_of(const Simulation& simulation, int workers) {
  MeetingRates rates(workers);
  for (const FormedGroup& group : simulation.groups) rates.add(group.members);
  return rates.rho();
}

// Whether groups first..last join all workers, by spreading a mark from worker 0.
bool are_connected(const std::vector<FormedGroup>& groups, std::size_t first, std::size_t last,
                   int workers) {
  std::vector<bool> reached(static_cast<std::size_t>(workers), false);
  reached[0] = true;
  const auto is_reached = [&](WorkerId worker) {
    return reached[static_cast<std::size_t>(worker.value)];
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = first; i <= last; ++i) {
      const std::vector<WorkerId>& members = groups[i].members;
      if (!std::any_of(members.begin(), members.end(), is_reached) ||
          std::all_of(members.begin(), members.end(), is_reached))
        continue;
      for (const WorkerId member : members) reached[static_cast<std::size_t>(member.value)] = true;
      changed = true;
    }
  }
  return std::all_of(reached.begin(), reached.end(), [](bool each) { return each; });
}

// The most groups in a row that left the window of the last `window` disconnected, once it was
// full.
std::int64_t longest_apart(const std::vector<FormedGroup>& groups, int window, int workers) {
  std::int64_t longest = 0;
  std::int64_t apart = 0;
  const auto length = static_cast<std::size_t>(window);
  for (std::size_t last = length - 1; last < groups.size(); ++last) {
    apart = are_connected(groups, last + 1 - length, last, workers) ? 0 : apart + 1;
    longest = std::max(longest, apart);
  }
  return longest;
}

TEST(GroupFormerAmongSpeeds, ConnectsTheWindowWithinAnyWindowOfGroups) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    const int workers = 3 + static_cast<int>(random.below(10));
    GroupFormerOptions options{.workers = workers};
    options.group = 2 + static_cast<int>(random.below(static_cast<std::uint64_t>(workers) - 1));
    options.window = workers - 1 + static_cast<int>(random.below(4));
    const double spread = random.below(3) == 0 ? 0 : 0.3 * random.uniform();
    std::vector<Seconds> paces;
    for (int worker = 0; worker < workers; ++worker)
      paces.push_back(random.below(2) == 0 ? 1 : 1 + 9 * random.uniform());
    const StepTime pace = [&](int worker, Random& noise) {
      return paces[static_cast<std::size_t>(worker)] * (1 + spread * noise.uniform());
    };
    const Simulation simulation = simulate(options, pace, 200 * options.group);
    const std::int64_t apart = longest_apart(simulation.groups, options.window, workers);
    ASSERT_LT(apart, options.window) << workers << " workers in groups of " << options.group;
    ASSERT_EQ(simulation.counters.longest_apart, apart);
  }
}

TEST(GroupFormerAmongSpeeds, FailsToConnectSixteenAtTheSmallestWindow) {
  GroupFormerOptions options{.workers = 16, .group = 4, .window = 5};
  const Simulation apart = simulate(options, equal, 2000);
  EXPECT_FALSE(are_connected(apart.groups, 300, apart.groups.size() - 1, 16));
  options.window = 15;
  const Simulation together = simulate(options, equal, 2000);
  EXPECT_TRUE(are_connected(together.groups, 300, together.groups.size() - 1, 16));
}

TEST(GroupFormerAmongSpeeds, KeepsPairsInLockstepFromBecomingIslands) {
  GroupFormerOptions options{.workers = 4, .group = 2, .filter = Filter::off, .window = 3};
  const Simulation islands = simulate(options, equal, 400);
  for (const FormedGroup& group : islands.groups)
    ASSERT_EQ(group.members[0].value / 2, group.members[1].value / 2);
  EXPECT_NEAR(rho_of(islands, 4), 1, 1e-12);
  options.filter = Filter::on;
  EXPECT_NEAR(rho_of(simulate(options, equal, 400), 4), 0.75, 1e-12);
}

TEST(GroupFormerAmongSpeeds, MixesWorseThanRandomGroupsOnlyWithoutJitter) {
  const int sizes[] = {2, 3, 5};
  const double in_lockstep[] = {1.0, 1.0, 0.80};
  const double with_jitter[] = {0.87, 0.72, 0.44};
  for (int i = 0; i < 3; ++i) {
    const GroupFormerOptions options{.workers = 8, .group = sizes[i], .filter = Filter::off};
    EXPECT_NEAR(rho_of(simulate(options, equal, 8000), 8), in_lockstep[i], 0.01);
    EXPECT_NEAR(rho_of(simulate(options, jitter, 80000), 8), with_jitter[i], 0.01);
  }
}

struct Row {
  std::string name;
  StepTime pace;
  std::vector<double> steps_per_second;  // For groups of 2, 3, 5 and 8.
};

void expect_rate(const GroupFormerOptions& options, const Row& row, double expected) {
  const double actual = simulate(options, row.pace, 40000).steps_per_second;
  EXPECT_NEAR(actual / expected, 1, 0.03)
      << row.name << ", groups of " << options.group << ": " << actual << ", not " << expected;
}

// Groups of 3 and 5 lose among equal workers, because they do not divide 8: the rest waits.
TEST(GroupFormerAmongSpeeds, ReachesTheKnownThroughputs) {
  const std::vector<Row> rows = {{"equal", equal, {8.00, 6.00, 5.00, 8.00}},
                                 {"jitter", jitter, {7.10, 5.80, 4.78, 6.79}},
                                 {"one 2x", one_twice_as_slow, {7.00, 6.00, 5.00, 4.00}},
                                 {"two 3x", two_thrice_as_slow, {6.00, 6.00, 5.00, 2.67}},
                                 {"pauses", pauses, {6.20, 5.71, 4.95, 4.2}}};
  const int sizes[] = {2, 3, 5, 8};
  for (const Row& row : rows)
    for (int i = 0; i < 4; ++i)
      expect_rate({.workers = 8, .group = sizes[i]}, row,
                  row.steps_per_second[static_cast<std::size_t>(i)]);
  const GroupFormerOptions pairs{.workers = 8, .group = 2, .filter = Filter::off};
  expect_rate(pairs, rows[1], 7.22);
  expect_rate(pairs, rows[3], 6.67);
}

}  // namespace
}  // namespace huddle
