// A cluster as strategies and engines see it: racks of workers, links, speeds, and what is going to
// fail.
//
// One description serves every engine: the simulated one computes with it, the threads one injects
// it in real time. A default cluster is one rack with links that cost nothing and workers that are
// as fast as the machine.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "huddle/core/ids.h"

namespace huddle {

struct Link {
  Seconds latency = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
  bool is_free() const {
    return latency == 0 && bytes_per_second == std::numeric_limits<double>::infinity();
  }
};

// `worker` takes `factor` times as long for steps first..last.
struct Slowdown {
  WorkerId worker;
  double factor = 1;
  Step first;
  Step last = {std::numeric_limits<std::int64_t>::max()};
};

// `worker` dies at `step`: when it begins to compute, or inside an exchange after so many of its
// operations.
struct Death {
  WorkerId worker;
  Step step;
  int after_operations = 0;  // 0: before computing.
};

struct Cluster {
  int workers = 1;
  int workers_per_rack = 0;  // 0: all in one rack.
  Link in_rack;
  Link between_racks;
  std::map<std::pair<WorkerId, WorkerId>, Link> links;  // Overrides, by (from, to).
  Seconds compute_per_step = 0;                         // Passed beside the real computation.
  double jitter = 0;  // Standard deviation of the compute time, relative; half-normal.
  std::vector<Slowdown> slowdowns;
  std::vector<Death> deaths;
  std::uint64_t seed = 0;

  int rack_of(WorkerId worker) const {
    return workers_per_rack == 0 ? 0 : worker.value / workers_per_rack;
  }
  int racks() const {
    return workers_per_rack == 0 ? 1 : (workers + workers_per_rack - 1) / workers_per_rack;
  }

  // The link that a message from one worker to another passes.
  const Link& link(WorkerId from, WorkerId to) const;

  // True when no link costs anything.
  bool has_free_links() const;

  // How long the work of one step takes on `worker`: `work` slowed down and jittered. Pure: the
  // same for equal seeds.
  Seconds compute_time(WorkerId worker, Step step, Seconds work) const;

  // Throws UsageError naming the first thing that cannot be.
  void validate() const;
};

}  // namespace huddle
