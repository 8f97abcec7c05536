// Injected link costs: when a message that is sent now would have arrived over the cluster's links.
//
// Each worker has one outgoing and one incoming link, which carry one message at a time; a message
// then travels for the latency of the path. On a cluster whose links are free every message arrives
// at once.

#pragma once

#include <cstdint>
#include <vector>

#include "huddle/core/cluster.h"
#include "huddle/core/ids.h"

namespace huddle {

// Not thread-safe: the hub calls it under its mutex.
class Wire {
 public:
  explicit Wire(const Cluster& cluster);

  struct Message {
    WorkerId from;
    WorkerId to;
    std::int64_t bytes;
  };

  // The moment at which `message`, sent at `now`, has arrived. Occupies the links for its bytes.
  Time arrival(const Message& message, Time now);

 private:
  const Cluster& cluster_;
  std::vector<Time> outgoing_free_at_;
  std::vector<Time> incoming_free_at_;
};

}  // namespace huddle
