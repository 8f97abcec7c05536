// How a schedule is chosen: the options, and the keys by which a strategy string sets them
// (`ds_sync:schedule=grid,radices=4x4`, `sesgd:radix=2`).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/random.h"
#include "huddle/base/spec.h"
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

// The keys that choose a schedule, for the strategies' SpecInfo.
std::vector<KeyInfo> schedule_keys_ds_sync();
std::vector<KeyInfo> schedule_keys_sesgd();

// From options whose SpecInfo holds those keys. They throw UsageError on radices that cannot be
// read and on keys that the chosen schedule does not have.
ScheduleOptions schedule_options_ds_sync(const Options& options, const Topology& topology);
ScheduleOptions schedule_options_sesgd(const Options& options);

}  // namespace huddle
