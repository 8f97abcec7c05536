// How long averages in groups take that change at every step, beside what a user would pick
// instead: measured in turns, in one run, on any engine.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/transport/launcher.h"

namespace huddle {

struct CollectivesPlan {
  std::vector<int> groups;          // Sizes of groups; each divides the number of workers.
  std::vector<std::int64_t> bytes;  // Of the tensor, in float32.
  Seconds seconds = 0.2;            // For each measurement of each contender.
  int samples = 9;                  // Of each, in turns.
  Deadline deadline;
};

// Averages a group's tensors in its own way. One worker's; REQUIRES: all members call it.
using Contend = std::function<void(const Group& group, const at::Tensor& tensor)>;

struct Contender {
  std::string name;
  Contend average;
};

// Further ways to average, that a worker's process brings along; made before the first measurement.
using MakeContenders = std::function<std::vector<Contender>()>;

// The median of samples, of which each is the time of the slowest worker, and their spread.
struct CollectiveTime {
  int group = 0;
  std::int64_t bytes = 0;
  std::string contender;
  Seconds median = 0;
  Seconds low = 0;   // The first decile,
  Seconds high = 0;  // and the ninth.
};

// What worker 0 has measured; in the process of another worker nothing. Throws LogicError where an
// average is wrong. `done`: told of each case by worker 0.
std::vector<CollectiveTime> measure_collectives(Launcher& launcher, const CollectivesPlan& plan,
                                                const MakeContenders& others,
                                                const std::function<void(int of_cases)>& done);

inline constexpr const char* kHuddle = "huddle";
inline constexpr const char* kCopy = "memory copy";

}  // namespace huddle
