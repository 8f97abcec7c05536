#include "huddle/schedule/schedule_kinds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// `first`, `first + stride`, ... .
Positions progression(int first, int count, int stride) {
  Positions positions;
  positions.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) positions.push_back(first + i * stride);
  return positions;
}

// The sizes of `groups` groups that share `workers`, larger ones first.
std::vector<int> even_sizes(int workers, int groups) {
  std::vector<int> sizes(static_cast<std::size_t>(groups), workers / groups);
  for (int i = 0; i < workers % groups; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

std::vector<Positions> consecutive(const std::vector<int>& sizes) {
  std::vector<Positions> groups;
  int first = 0;
  for (const int size : sizes) {
    groups.push_back(progression(first, size, 1));
    first += size;
  }
  return groups;
}

// Which worker is in which group, or UsageError when `phase` is no partition of the workers.
std::vector<int> index_of(const std::vector<Positions>& phase, int workers) {
  std::vector<int> index(static_cast<std::size_t>(workers), -1);
  for (std::size_t group = 0; group < phase.size(); ++group)
    for (const int position : phase[group]) {
      if (position < 0 || position >= workers || index[static_cast<std::size_t>(position)] >= 0)
        throw UsageError(concat("a schedule's phase has worker ", position,
                                " twice or leaves a smaller one out; each of the workers 0 to ",
                                workers - 1, " belongs into exactly one group."));
      index[static_cast<std::size_t>(position)] = static_cast<int>(group);
    }
  return index;
}

int count_of(const std::vector<Positions>& phase) {
  int count = 0;
  for (const Positions& group : phase) {
    if (group.empty()) throw UsageError("a schedule's phase has an empty group; leave it out.");
    count += static_cast<int>(group.size());
  }
  return count;
}

}  // namespace

int GridPattern::workers() const {
  return std::accumulate(radices.begin(), radices.end(), 1, std::multiplies<>());
}

Positions GridPattern::group_of(int position, std::int64_t step) const {
  const auto digit = static_cast<std::size_t>(digits[static_cast<std::size_t>(step % cycle())]);
  int stride = 1;
  for (std::size_t below = 0; below < digit; ++below) stride *= radices[below];
  const int radix = radices[digit];
  return progression(position - position / stride % radix * stride, radix, stride);
}

Positions RotatingPattern::group_of(int position, std::int64_t step) const {
  const int m = per_rack;
  const int first = position / m * m;
  Positions rack = progression(first, m, 1);
  const std::int64_t phase = step % cycle();
  if (phase % cross_every != 0) return rack;
  const auto representative = static_cast<int>(phase / cross_every);
  if (position - first == representative) return progression(representative, racks, m);
  rack.erase(rack.begin() + representative);
  return rack;
}

Positions RandomPattern::group_of(int position, std::int64_t step) const {
  Positions order = progression(0, members, 1);
  Random(seed, {static_cast<std::uint64_t>(step)}).shuffle(order);
  auto first = order.begin();
  for (const int size : even_sizes(members, groups)) {
    const auto end = first + size;
    if (std::find(first, end, position) != end) {
      std::sort(first, end);
      return {first, end};
    }
    first = end;
  }
  throw LogicError("a position outside the schedule");
}

Positions TablePattern::group_of(int position, std::int64_t step) const {
  const auto phase = static_cast<std::size_t>(step % cycle());
  return phases[phase]
               [static_cast<std::size_t>(group_index[phase][static_cast<std::size_t>(position)])];
}

GridPattern grid_pattern(std::vector<int> radices) {
  if (radices.empty()) throw UsageError("a grid needs radices, as in radices=4x4.");
  std::int64_t workers = 1;
  for (const int radix : radices) {
    if (radix < 2)
      throw UsageError(
          concat("radix ", radix,
                 " makes groups of one, which average nothing; radices are at least 2, "
                 "as in radices=4x4."));
    workers *= radix;
    if (workers > 1 << 20) throw UsageError("the radices make more than a million workers.");
  }
  GridPattern grid{.radices = std::move(radices), .digits = {}};
  grid.digits.resize(grid.radices.size());
  std::iota(grid.digits.begin(), grid.digits.end(), 0);
  return grid;
}

GridPattern exchange_pattern(std::vector<int> radices) {
  GridPattern grid = grid_pattern(std::move(radices));
  std::reverse(grid.digits.begin() + 1, grid.digits.end());
  return grid;
}

RotatingPattern rotating_pattern(const RotatingPattern& wanted) {
  if (wanted.racks < 2 || wanted.per_rack < 2)
    throw UsageError(concat("a rotating schedule needs at least two racks of two workers, not ",
                            wanted.racks, "x", wanted.per_rack,
                            "; for example --racks 2x4, or schedule=grid."));
  if (wanted.cross_every < 1)
    throw UsageError("cross_every counts steps from 1 on; cross_every=1 crosses in every step.");
  return wanted;
}

TablePattern halves_pattern(int workers) {
  if (workers < 4 || workers % 4 != 0)
    throw UsageError(concat("schedule=halves needs a multiple of four workers, not ", workers,
                            "; for example ", std::max(1, workers / 4) * 4,
                            ", or schedule=grid for any number."));
  std::vector<Positions> quarter = consecutive(even_sizes(workers, 4));
  const auto both = [&](std::size_t a, std::size_t b) {
    Positions half = quarter[a];
    half.insert(half.end(), quarter[b].begin(), quarter[b].end());
    return half;
  };
  return table_pattern({{both(0, 1), both(2, 3)}, {both(0, 2), both(1, 3)}});
}

TablePattern authors_pattern() { return table_pattern({{{0, 1}, {2, 3}}, {{0, 3}, {1, 2}}}); }

TablePattern ragged_pattern(int workers) {
  check(workers >= 1, "a schedule without workers");
  if (workers <= 2) return runs_pattern({.workers = workers, .size = workers});
  const double root = std::sqrt(workers);
  const auto empty_cells = [&](int rows) { return (rows - workers % rows) % rows; };
  int best = 0;
  for (int rows = static_cast<int>(root) - 1; rows <= static_cast<int>(root) + 2; ++rows) {
    if (rows < 2 || rows >= workers) continue;
    const bool nearer = best == 0 || std::abs(rows - root) < std::abs(best - root);
    if (best == 0 || empty_cells(rows) < empty_cells(best) ||
        (empty_cells(rows) == empty_cells(best) && nearer))
      best = rows;
  }
  const std::vector<Positions> rows = consecutive(even_sizes(workers, best));
  std::vector<Positions> columns(rows.front().size());
  for (const Positions& row : rows)
    for (std::size_t place = 0; place < row.size(); ++place) columns[place].push_back(row[place]);
  return table_pattern({rows, columns});
}

TablePattern runs_pattern(const Runs& runs) {
  check(runs.size >= 1 && runs.size <= runs.workers, "a group size that does not fit");
  const int groups = (runs.workers + runs.size - 1) / runs.size;
  return table_pattern({consecutive(even_sizes(runs.workers, groups))});
}

TablePattern table_pattern(std::vector<std::vector<Positions>> phases) {
  if (phases.empty()) throw UsageError("a schedule needs at least one phase.");
  TablePattern table;
  const int workers = count_of(phases.front());
  for (std::vector<Positions>& phase : phases) {
    if (count_of(phase) != workers)
      throw UsageError("the phases of a schedule differ in their number of workers.");
    for (Positions& group : phase) std::sort(group.begin(), group.end());
    std::sort(phase.begin(), phase.end());
    table.group_index.push_back(index_of(phase, workers));
  }
  table.phases = std::move(phases);
  return table;
}

}  // namespace huddle
