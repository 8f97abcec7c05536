// What a link of a simulated network carried for a while, for timelines.

#pragma once

#include <functional>
#include <span>

#include "huddle/base/ids.h"

namespace huddle {

struct LinkLoad {
  int link = 0;  // As Network numbers them.
  Time from = 0;
  Time to = 0;
  double bytes_per_second = 0;
};

// Told of stretches of time, for each link one after another without gaps. Must not throw: it is
// called from the middle of the simulation.
using LinkLoadObserver = std::function<void(std::span<const LinkLoad>)>;

}  // namespace huddle
