// Injected link costs: when a message would have arrived over the cluster's network.
//
// Each link of the network carries one message at a time, at the link's own speed; a message then
// travels for the latency of its route. What disturbs links over time (background traffic, links
// that vary or are cut) is left to simulation.

#pragma once

#include <vector>

#include "huddle/cluster/network.h"
#include "huddle/transport/local/scheduler.h"

namespace huddle {

// Not thread-safe: the scheduler calls it under its lock.
class InjectedLinks {
 public:
  explicit InjectedLinks(const Cluster& cluster);

  // How the journey of `parcel` goes. Occupies the links on its way for its bytes.
  Scheduler::Arrival carry(const Parcel& parcel);

 private:
  const Network network_;
  std::vector<Time> free_at_;  // By link.
};

}  // namespace huddle
