// What is wrong with a cluster, and which part of its description says so.
//
// A reader of cluster files turns the part into a line of the file; everybody else takes the
// sentences from Cluster::problems().

#pragma once

#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"

namespace huddle {

struct ClusterProblem {
  enum class Part {
    racks,
    network,
    link_override,
    path,
    background,
    variation,
    cut,
    compute,
    slowdown,
    random_slowdown,
    pause,
    wander,
    death,
    halt,
    model,
  };
  Part part = Part::racks;
  std::size_t index = 0;  // Among the parts of that kind, where there may be several.
  std::string sentence;
};

// All problems of a cluster, in the order of its description.
std::vector<ClusterProblem> find_problems(const Cluster& cluster);

}  // namespace huddle
