// The small strong types that name things: a worker, a step, moments and spans of time.

#pragma once

#include <compare>
#include <cstdint>

namespace huddle {

// One replica in training, numbered 0..N-1.
struct WorkerId {
  int value = 0;
  auto operator<=>(const WorkerId&) const = default;
};

// One optimizer step *offered* to a worker, counted from 0 over the whole run; a skipped step
// counts too.
struct Step {
  std::int64_t value = 0;
  auto operator<=>(const Step&) const = default;
};

// Spans of time, real or virtual.
using Seconds = double;

// A moment on an engine's clock: seconds since the run began.
using Time = double;

// How long a wait may last, counted from the moment it begins. A deadline ends lateness; death is
// noticed without it.
struct Deadline {
  Seconds after = 300;
};

}  // namespace huddle
