// The parts of a worker's time, under the names that they have in files.

#pragma once

#include <utility>

#include "huddle/record/meter.h"

namespace huddle {

constexpr std::pair<const char*, Seconds TimeSplit::*> kTimeParts[] = {
    {"compute", &TimeSplit::compute},
    {"wait", &TimeSplit::wait},
    {"exchange", &TimeSplit::exchange},
    {"hidden", &TimeSplit::hidden}};

inline TimeSplit& operator+=(TimeSplit& sum, const TimeSplit& time) {
  for (const auto& [name, part] : kTimeParts) sum.*part += time.*part;
  return sum;
}

}  // namespace huddle
