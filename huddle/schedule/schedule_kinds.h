// The ways to divide workers into groups that change from step to step, each as a small value.
//
// A pattern knows workers by *position*, 0..N-1, and steps by number; it holds no more than its
// parameters, so that a thousand workers can each keep their own. `group_of` is what a worker asks
// in every step and costs as much as the group is large (as all workers for `RandomPattern`). After
// `cycle` steps it repeats, after `turn` steps it repeats but for a change of names: so many phases
// show all sizes and all overlaps of groups that there are.
// The functions below accept exactly what a pattern is defined for; make_schedule (schedule.h)
// finds one for any number of workers. Sources: divide-and-shuffle (arXiv 2007.03298) and
// shuffle-exchange SGD (arXiv 2007.00433); racks, halves and ragged grids are reconstructions.

#pragma once

#include <cstdint>
#include <iterator>
#include <variant>
#include <vector>

#include "huddle/base/random.h"

namespace huddle {

using Positions = std::vector<int>;  // Sorted.

// Workers are digits in mixed radix, radices[0] the least significant one. Phase p averages over
// digit digits[p]: workers that agree in all others form a group.
struct GridPattern {
  std::vector<int> radices;
  std::vector<int> digits;

  int workers() const;
  std::int64_t cycle() const { return std::ssize(digits); }
  int turn() const { return static_cast<int>(digits.size()); }
  Positions group_of(int position, std::int64_t step) const;
};

// Racks of workers, worker = rack * per_rack + index. Every `cross_every`-th step one
// representative of each rack averages across the racks, another index each time, while the others
// of each rack average among themselves; in the steps between, each rack averages as a whole.
struct RotatingPattern {
  int racks = 2;
  int per_rack = 3;
  int cross_every = 1;

  int workers() const { return racks * per_rack; }
  std::int64_t cycle() const { return std::int64_t{per_rack} * cross_every; }
  int turn() const { return cross_every; }  // Every index is a representative like any other.
  Positions group_of(int position, std::int64_t step) const;
};

// A new partition in every step, drawn from (seed, step). Group sizes differ by at most one.
struct RandomPattern {
  int members = 1;
  int groups = 1;
  Random::Seed seed = 0;

  int workers() const { return members; }
  std::int64_t cycle() const { return 0; }  // Never repeats.
  int turn() const { return 1; }            // Always the same sizes.
  Positions group_of(int position, std::int64_t step) const;
};

// Phases written out. Make it with table_pattern.
struct TablePattern {
  std::vector<std::vector<Positions>> phases;
  std::vector<std::vector<int>> group_index;  // By phase and position.

  int workers() const { return static_cast<int>(group_index.front().size()); }
  std::int64_t cycle() const { return std::ssize(phases); }
  int turn() const { return static_cast<int>(phases.size()); }
  Positions group_of(int position, std::int64_t step) const;
};

using SchedulePattern = std::variant<GridPattern, RotatingPattern, RandomPattern, TablePattern>;

// All of these throw UsageError with the reason and a value that works.

// Phase p averages over digit p; any radices.size() phases in a row give the mean of all workers.
// At least one radix, each at least 2.
GridPattern grid_pattern(std::vector<int> radices);

// The digits in the order of a shuffle-exchange network: 0, then the most significant one, and down
// to 1. For radix 2 these are the partners id XOR 1, N/2, N/4, ..., 2.
GridPattern exchange_pattern(std::vector<int> radices);

// At least two racks of at least two workers. Racks of exactly two never mix unless cross_every is
// at least 2: the worker left behind is alone.
RotatingPattern rotating_pattern(const RotatingPattern& wanted);

// Two halves, then two halves that share a quarter with each of them. A multiple of four workers.
TablePattern halves_pattern(int workers);

// {0 1} {2 3}, then {0 3} {1 2}: what the authors of divide-and-shuffle publish.
TablePattern authors_pattern();

// Rows of equal or nearly equal length, longer ones first, then columns, for numbers of workers
// that no grid fits. With b cells empty the mixing factor is sqrt(b / (N + b)); the number of rows
// near sqrt(N) is chosen that leaves fewest. Any number of workers; up to two are one group.
TablePattern ragged_pattern(int workers);

// Consecutive workers in groups of `size` or, where that does not divide them, slightly less.
// REQUIRES: 1 <= size <= workers.
struct Runs {
  int workers = 1;
  int size = 1;
};
TablePattern runs_pattern(const Runs& runs);

// Every phase must hold each position exactly once.
TablePattern table_pattern(std::vector<std::vector<Positions>> phases);

}  // namespace huddle
