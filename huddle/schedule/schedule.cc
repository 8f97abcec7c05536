#include "huddle/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

// A pattern and why it is not the one that was to be expected.
struct Choice {
  SchedulePattern pattern;
  std::string note = "";
};

// The factors n1 <= n2 of `workers` that are nearest to one another; n1 is 1 for a prime.
std::pair<int, int> most_square(int workers) {
  int smaller = 1;
  for (int factor = 2; factor <= workers / factor; ++factor)
    if (workers % factor == 0) smaller = factor;
  return {smaller, workers / smaller};
}

// True where a grid would be long and thin: for primes, and where no factors are near one another.
bool is_awkward(int workers) {
  const auto [smaller, larger] = most_square(workers);
  return smaller == 1 || larger > 4 * smaller;
}

Choice ragged_choice(int workers) {
  if (workers <= 2) return {ragged_pattern(workers)};
  const TablePattern pattern = ragged_pattern(workers);
  return {pattern,
          concat(workers, " workers do not fill a grid, so ", pattern.phases[0].size(), " rows of ",
                 pattern.phases[0].back().size(), " or ", pattern.phases[0].front().size(),
                 " workers are used; agreement is approached, not exact.")};
}

Choice grid_choice(const ScheduleOptions& options, int workers) {
  if (!options.radices.empty()) {
    GridPattern grid = grid_pattern(options.radices);
    if (grid.workers() == workers) return {std::move(grid)};
    const auto [smaller, larger] = most_square(workers);
    throw UsageError(concat("radices=", joined(options.radices, 'x'), " make ", grid.workers(),
                            " workers, not ", workers, "; for example ",
                            smaller == 1 ? "no radices at all (a ragged grid)"
                                         : concat("radices=", smaller, "x", larger),
                            "."));
  }
  if (workers == 4)
    return {authors_pattern(),
            "4 workers use the table that the authors publish, not the grid 2x2."};
  if (is_awkward(workers)) return ragged_choice(workers);
  const auto [smaller, larger] = most_square(workers);
  return {grid_pattern({smaller, larger})};
}

// `radix` as often as it divides the workers, then the prime factors of what is left.
std::vector<int> exchange_radices(int radix, int workers) {
  std::vector<int> radices;
  for (; workers % radix == 0; workers /= radix) radices.push_back(radix);
  for (int factor = 2; workers > 1; ++factor)
    for (; workers % factor == 0; workers /= factor) radices.push_back(factor);
  return radices;
}

Choice exchange_choice(const ScheduleOptions& options, int workers) {
  if (options.radix < 2)
    throw UsageError(concat("radix=", options.radix,
                            " makes groups of one, which average nothing; for example radix=2."));
  if (workers == 1) return {runs_pattern({.workers = 1, .size = 1})};
  const std::vector<int> radices = exchange_radices(options.radix, workers);
  GridPattern pattern = exchange_pattern(radices);
  if (std::all_of(radices.begin(), radices.end(), [&](int each) { return each == options.radix; }))
    return {std::move(pattern)};
  const std::string reason = concat(workers, " is not a power of ", options.radix);
  if (is_awkward(workers)) {
    Choice choice = ragged_choice(workers);
    if (!choice.note.empty()) choice.note = concat(reason, ", and ", choice.note);
    return choice;
  }
  return {std::move(pattern),
          concat(reason, ", so groups have the sizes ", joined(radices, 'x'), ".")};
}

Choice rotating_choice(const ScheduleOptions& options, int workers) {
  const int per_rack = options.topology.equal_rack_size();
  const auto [smaller, larger] = most_square(workers);
  if (options.topology.rack_count() < 2)
    throw UsageError(concat("schedule=rotating needs the workers in two racks or more; ",
                            smaller == 1 ? "these cannot be dealt out evenly: use schedule=grid."
                                         : concat("for example --racks ", smaller, "x", larger,
                                                  ", or schedule=grid, which needs no racks.")));
  if (per_rack == 0)
    throw UsageError(
        concat("schedule=rotating needs racks of equal size, filled in order; these "
               "have ",
               joined(options.topology.rack_sizes(), '+'),
               " workers: use schedule=grid, which takes any."));
  if (per_rack == 1)
    throw UsageError(
        "schedule=rotating needs racks of two workers or more; use schedule=grid for racks of "
        "one.");
  const RotatingPattern pattern = rotating_pattern(
      {.racks = workers / per_rack, .per_rack = per_rack, .cross_every = options.cross_every});
  if (per_rack > 2 || options.cross_every > 1) return {pattern};
  return {
      grid_pattern({per_rack, pattern.racks}),
      concat("in racks of two a rotating representative leaves the other worker alone and never "
             "mixes, so racks and columns alternate (the grid 2x",
             pattern.racks, "); cross_every=2 keeps the rotation.")};
}

void check_group(const ScheduleOptions& options, int workers) {
  if (options.group == 0 || workers == 1) return;
  if (options.group < 2 || options.group > workers)
    throw UsageError(concat("group=", options.group, " is not from 2 to ", workers,
                            ", the number of workers; for example group=2."));
}

Choice random_choice(const ScheduleOptions& options, int workers) {
  check_group(options, workers);
  const int size =
      options.group > 0 ? options.group : static_cast<int>(std::ceil(std::sqrt(workers)));
  return {RandomPattern{
      .members = workers, .groups = (workers + size - 1) / size, .seed = options.seed}};
}

Choice fixed_choice(const ScheduleOptions& options, int workers) {
  check_group(options, workers);
  if (options.group > 0 && options.radices.empty())
    return {runs_pattern({.workers = workers, .size = std::min(options.group, workers)})};
  if (options.group > 0)
    throw UsageError("radices and group both say how large fixed groups are; give one of them.");
  SchedulePattern grid = grid_choice(options, workers).pattern;
  std::vector<Positions> first;
  for (int position = 0; position < workers; ++position) {
    Positions group =
        std::visit([&](const auto& each) { return each.group_of(position, 0); }, grid);
    if (group.front() == position) first.push_back(std::move(group));
  }
  return {table_pattern({std::move(first)})};
}

Choice choose(const ScheduleOptions& options, int workers) {
  switch (options.kind) {
    case Kind::grid: return grid_choice(options, workers);
    case Kind::rotating: return rotating_choice(options, workers);
    case Kind::halves: return {halves_pattern(workers)};
    case Kind::exchange: return exchange_choice(options, workers);
    case Kind::random: return random_choice(options, workers);
    case Kind::fixed: return fixed_choice(options, workers);
    case Kind::authors: break;
  }
  if (workers != 4)
    throw UsageError(concat("schedule=authors is published for 4 workers, not ", workers,
                            "; use schedule=grid, which does the same for any number."));
  return {authors_pattern()};
}

int workers_of(const SchedulePattern& pattern) {
  return std::visit([](const auto& each) { return each.workers(); }, pattern);
}

std::int64_t period_of(std::int64_t cycle, int every) {
  if (every == 1) return 1;
  if (every == 0 || cycle == 0) return cycle;
  std::int64_t period = 0;
  if (__builtin_mul_overflow(cycle / std::gcd<std::int64_t, std::int64_t>(every - 1, cycle), every,
                             &period))
    throw UsageError(concat("global_every=", every, " and a cycle of ", cycle,
                            " phases repeat only after more steps than can be counted; use for "
                            "example global_every=100."));
  return period;
}

}  // namespace

Schedule::Schedule(SchedulePattern pattern, Group members, Extras extras)
    : pattern_(std::move(pattern)), members_(std::move(members)), extras_(std::move(extras)) {
  check(workers_of(pattern_) == members_.size(), "a schedule for another number of workers");
  check(extras_.global_every >= 0, "a negative interval of global averages");
  period_ = period_of(cycle(), extras_.global_every);
}

Positions Schedule::positions_of(int position, std::int64_t cycle_step) const {
  return std::visit([&](const auto& each) { return each.group_of(position, cycle_step); },
                    pattern_);
}

Group Schedule::members_at(const Positions& positions) const {
  std::vector<WorkerId> members;
  members.reserve(positions.size());
  for (const int position : positions) members.push_back(members_[position]);
  return Group(std::move(members));
}

Partition Schedule::partition_at(std::int64_t cycle_step) const {
  Partition partition;
  std::vector<bool> placed(static_cast<std::size_t>(members_.size()));
  for (int position = 0; position < members_.size(); ++position) {
    if (placed[static_cast<std::size_t>(position)]) continue;
    const Positions group = positions_of(position, cycle_step);
    for (const int each : group) placed[static_cast<std::size_t>(each)] = true;
    partition.push_back(members_at(group));
  }
  return partition;
}

std::int64_t Schedule::cycle() const {
  return std::visit([](const auto& each) { return each.cycle(); }, pattern_);
}

int Schedule::turn() const {
  return std::visit([](const auto& each) { return each.turn(); }, pattern_);
}

Partition Schedule::cycle_phase(std::int64_t phase) const { return partition_at(phase); }

std::int64_t Schedule::cycle_step(Step step) const {
  const int every = extras_.global_every;
  if (every == 0) return step.value;
  return (step.value + 1) % every == 0 ? -1 : step.value - step.value / every;
}

Group Schedule::group_of(WorkerId worker, Step step) const {
  const std::int64_t at = cycle_step(step);
  return at < 0 ? members_ : members_at(positions_of(members_.position_of(worker), at));
}

Partition Schedule::partition(Step step) const {
  const std::int64_t at = cycle_step(step);
  return at < 0 ? Partition{members_} : partition_at(at);
}

Schedule Schedule::with(const Meetings& meetings) const {
  check(meetings.every >= 1, "groups that meet more than once in a step");
  Schedule schedule = *this;
  schedule.meetings_ = meetings;
  return schedule;
}

Schedule Schedule::with_note(const std::string& sentence) const {
  Schedule schedule = *this;
  std::string& note = schedule.extras_.note;
  note = note.empty() || sentence.empty() ? sentence + note : sentence + " " + note;
  return schedule;
}

std::optional<Step> Schedule::meeting(Step step) const {
  const std::int64_t steps = step.value + 1;
  if (steps % meetings_.every != 0) return std::nullopt;
  return Step{steps / meetings_.every - 1};
}

Schedule make_schedule(const ScheduleOptions& options, int workers) {
  if (workers < 1)
    throw UsageError(concat("a schedule needs at least one worker, not ", workers, "."));
  const std::vector<int>& racks = options.topology.racks;
  check(racks.empty() || std::ssize(racks) == workers, "racks of other workers");
  if (options.global_every < 0)
    throw UsageError("global_every counts steps; global_every=0 leaves global averages out.");
  Choice choice = choose(options, workers);
  return Schedule(std::move(choice.pattern), Group::everyone(workers),
                  {.global_every = options.global_every, .note = std::move(choice.note)});
}

}  // namespace huddle
