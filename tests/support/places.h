// For tests: connections of a cluster of two racks, by name.

#pragma once

#include "huddle/cluster/connection.h"

namespace huddle {

inline constexpr Place kWorker0{Place::Kind::worker, 0};
inline constexpr Place kWorker1{Place::Kind::worker, 1};
inline constexpr Place kWorker4{Place::Kind::worker, 4};
inline constexpr Place kRack0{Place::Kind::rack, 0};
inline constexpr Place kRack1{Place::Kind::rack, 1};

}  // namespace huddle
