// For tests: `workers` workers in racks of `per_rack`, filled in order; 0: one rack of all.

#pragma once

#include <memory>

#include "huddle/cluster/topology.h"

namespace huddle {

inline Topology equal_racks(int workers, int per_rack) {
  if (per_rack == 0) return {};
  return in_equal_racks({.racks = workers / per_rack, .workers = per_rack});
}

inline SharedTopology shared_racks(int workers, int per_rack) {
  return std::make_shared<const Topology>(equal_racks(workers, per_rack));
}

}  // namespace huddle
