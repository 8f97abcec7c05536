// How a schedule is chosen: the options, and the keys by which a strategy string sets them
// (`ds_sync:schedule=grid,radices=4x4`, `sesgd:radix=2`).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/random.h"
#include "huddle/base/spec.h"

namespace huddle {

// Zeros mean "not asked for".
struct ScheduleOptions {
  enum class Kind { grid, authors, rotating, halves, exchange, random, fixed };

  Kind kind = Kind::grid;
  std::vector<int> radices = {};  // Of grid and fixed; the least significant digit first.
  int radix = 2;                  // Of exchange.
  int workers_per_rack = 0;       // 0: one rack.
  int cross_every = 1;            // Of rotating.
  int group = 0;                  // Size, of random and fixed.
  int global_every = 0;           // Steps.
  Random::Seed seed = 0;          // Of random.
};

// "4x4" as {4, 4}. Throws UsageError on anything else; `what` names it in the message.
std::vector<int> parse_radices(std::string_view what, std::string_view text);

// {4, 4} as "4x4".
std::string to_string(const std::vector<int>& radices);

// What `--racks 2x4` says about `workers` workers: the workers of each rack; 0 for an empty text.
// Throws UsageError unless the racks multiply out.
int parse_racks(std::string_view text, int workers);

// The keys that choose a schedule, for the strategies' SpecInfo.
std::vector<KeyInfo> schedule_keys_ds_sync();
std::vector<KeyInfo> schedule_keys_sesgd();

// From options whose SpecInfo holds those keys. They throw UsageError on radices that cannot be
// read and on keys that the chosen schedule does not have.
ScheduleOptions schedule_options_ds_sync(const Options& options, int workers_per_rack);
ScheduleOptions schedule_options_sesgd(const Options& options);

}  // namespace huddle
