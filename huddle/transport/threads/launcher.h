// The threads engine: every worker is a thread of this process. The embedded default, and the
// quickest to try things on.
//
// Costs that a real cluster would have (compute time, slow workers, links, deaths) are injected
// from the cluster description, in real time. Averages go through shared memory as long as the
// links are free; with injected links they travel as messages.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/transport/launcher.h"
#include "huddle/transport/payload_scale.h"

namespace huddle {

struct ThreadsOptions {
  enum class Native { on, off };

  Cluster cluster;
  Native native =
      Native::on;  // Off: averages travel as messages even where memory could be shared. Same bits.
  PayloadScale payload_scale;  // Bytes on the injected links for each byte of payload.
};

// Throws UsageError on a cluster that cannot be.
std::unique_ptr<Launcher> make_threads_launcher(const ThreadsOptions& options);

// What this engine cannot inject of the cluster, in words ("background traffic"); empty: nothing.
std::vector<std::string> left_out_by_threads(const Cluster& cluster);

}  // namespace huddle
