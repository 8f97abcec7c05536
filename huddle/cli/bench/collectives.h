// How long averages in groups take that change at every step, beside what a user would pick
// instead: measured in turns, in one run, on any engine.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/transport/launcher.h"

namespace huddle {

struct CollectivesSetting {
  std::vector<int> groups;          // Sizes of groups; each divides the number of workers.
  std::vector<std::int64_t> bytes;  // Of the tensor, in float32.
  Seconds seconds = 0.2;            // For each measurement of each contender.
  int samples = 9;                  // Of each, in turns.
  Deadline deadline;
};

// What is averaged: float32, in memory that other programs on this machine can open by its path.
struct BenchValues {
  const at::Tensor& tensor;
  const std::string& path;
};

// Averages with each of these groups, one after another, in its own way. One worker's; REQUIRES:
// all members of the groups call it.
using Contend = std::function<void(std::span<const Group> groups, const BenchValues& values)>;

struct Contender {
  enum class Result { mean, nothing };

  std::string name;
  Contend average;
  Result result = Result::mean;  // nothing: a limit, which only moves bytes.
};

// Further ways to average that a worker brings along, made before the first measurement: all
// workers call it.
using MakeContenders = std::function<std::vector<Contender>(Endpoint& endpoint)>;

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
std::vector<CollectiveTime> measure_collectives(Launcher& launcher,
                                                const CollectivesSetting& setting,
                                                const MakeContenders& others,
                                                const std::function<void(int of_cases)>& done);

// The times of each size of group and of tensor together, in their order.
std::vector<std::span<const CollectiveTime>> by_case(std::span<const CollectiveTime> times);

// REQUIRES: `contender` is among them.
Seconds median_of(std::span<const CollectiveTime> one_case, std::string_view contender);

inline constexpr const char* kHuddle = "huddle";
inline constexpr const char* kCopy = "memory copy";
inline constexpr const char* kBareExchange = "bare exchange over UCX";

}  // namespace huddle
