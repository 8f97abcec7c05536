// What the workers of a run run on: a description, from which every run makes an engine anew.
//
//   huddle::threads(8)                 workers as threads of this process, in real time
//   huddle::simulate("cluster.toml")   workers of a simulated cluster, in virtual time

#pragma once

#include <filesystem>
#include <string>

#include "huddle/cluster/cluster.h"

namespace huddle {

struct Engine {
  std::string spec = "threads";  // As --engine has it: "threads", "threads:native=off", "sim".
  Cluster cluster;
  std::string cluster_file;  // Where the cluster is from; empty: from no file.
};

Engine threads(int workers);

// With what a file says of speeds, links and faults injected in real time. Throws UsageError as
// read_cluster_file does: all problems of the file, each with its line and key.
Engine threads(const std::filesystem::path& cluster_file);

// The same in virtual time: results and times are equal on every machine. The format is in
// docs/clusters.md. A process simulates once (`compare` makes a process for each run). Throws
// likewise, and where this build has no SimGrid.
Engine simulate(const std::filesystem::path& cluster_file);

}  // namespace huddle
