// The network of a cluster as a list of links with names, and the route that each message takes.
//
// A link is one direction of a connection: "worker 3 out", "rack 0 in", "path rack 0 to rack 1".
// Only links that bind are listed, now or once they are cut; a route over none of them costs its
// latency alone. Simulation builds its platform from this, the threads engine injects delays by
// it, and reports name the bottleneck with it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"

namespace huddle {

class Network {
 public:
  // Throws UsageError if the cluster has problems.
  explicit Network(const Cluster& cluster);

  struct NamedLink {
    std::string name;
    double bytes_per_second = kUnlimited;  // Undisturbed.
  };
  const std::vector<NamedLink>& links() const { return links_; }

  struct Route {
    std::vector<int> links;  // In the order of travel.
    Seconds latency = 0;
    bool is_free() const { return links.empty() && latency == 0; }
  };
  // REQUIRES: both workers exist. Workers of one host reach one another, and themselves, for free.
  Route route(WorkerId from, WorkerId to) const;

  // True when no route costs anything.
  bool is_free() const { return is_free_; }

  // The links (one for each direction asked for) of a connection that binds; none of one that does
  // not. REQUIRES: the place exists.
  std::vector<int> links_at(Place place, Direction direction) const;

  // What is left of a link at a moment for elastic traffic: its speed as it varies, less the
  // traffic that does not give way, but never less than a hundredth of its undisturbed speed. 0
  // when it is cut.
  double bandwidth(int link, Time now) const;

  // The first moment after `now` at which `bandwidth` may differ; kForever: never again.
  Time next_change(int link, Time now) const;

 private:
  // One connection: the indexes of its links (-1: does not bind) and what passing it adds.
  struct Ends {
    int out = -1;
    int in = -1;
    Seconds extra_latency = 0;
  };
  struct Stretch {
    Place a, b;  // In order: a < b.
    int forth = -1;
    int back = -1;
    Seconds latency = 0;
  };
  // What happens to one link as time passes.
  struct Disturbances {
    struct Varying {
      Variation variation;
      std::uint64_t stream = 0;  // Seed of its draws.
    };
    std::vector<Varying> varying;
    std::vector<Background> taken;  // By traffic that does not give way.
    Time cut = kForever;
  };

  Ends make_ends(const Cluster& cluster, Place place);
  void make_paths(const Cluster& cluster);
  void disturb(const Cluster& cluster);
  bool costs_nothing(int hosts) const;
  int add(std::string name, double bytes_per_second);
  const Ends& ends(Place place) const;
  const Stretch* stretch_between(Place a, Place b) const;
  const Disturbances& disturbances(int link) const;

  std::vector<NamedLink> links_;
  std::vector<Disturbances> disturbances_;  // By link.
  std::vector<Ends> workers_;
  std::vector<Ends> racks_;
  std::vector<int> rack_of_;    // By worker.
  std::vector<int> host_of_;    // Likewise.
  std::vector<Stretch> paths_;  // Sorted by their ends.
  Seconds latency_in_rack_ = 0;
  Seconds latency_between_racks_ = 0;
  bool is_free_ = true;
};

}  // namespace huddle
