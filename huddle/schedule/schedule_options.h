// How a schedule is chosen.

#pragma once

#include <vector>

#include "huddle/base/random.h"
#include "huddle/cluster/topology.h"

namespace huddle {

// Zeros mean "not asked for".
struct ScheduleOptions {
  enum class Kind { grid, authors, rotating, halves, exchange, random, fixed };

  Kind kind = Kind::grid;
  std::vector<int> radices = {};  // Of grid and fixed; the least significant digit first.
  int radix = 2;                  // Of exchange.
  Topology topology = {};         // Of rotating.
  int cross_every = 1;            // Of rotating.
  int group = 0;                  // Size, of random and fixed.
  int global_every = 0;           // Steps.
  Random::Seed seed = 0;          // Of random.
};

}  // namespace huddle
