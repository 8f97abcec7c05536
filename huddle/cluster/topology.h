// Who is near whom: the hosts that workers live on, the racks that these stand in, and the links
// between them with their speeds, as far as they are known.
//
// Cluster files and `--racks` give it. Schedules form groups by it, averages order their messages
// by it, and engines compute with its links. A default topology is one rack of hosts with one
// worker each, however many there are, with links that cost nothing.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/cluster/connection.h"

namespace huddle {

struct Topology {
  // The rack of each worker, counted from 0 without gaps; empty: all are in one.
  std::vector<int> racks;

  // The host of each worker, likewise; empty: everybody has its own. Workers of one host share its
  // connection, and reach one another without any.
  std::vector<int> hosts;

  double nic_bytes_per_second = kUnlimited;     // Of a host's connection, each direction.
  double uplink_bytes_per_second = kUnlimited;  // Of all traffic between a rack and the others.
  Seconds latency_in_rack = 0;
  Seconds latency_between_racks = 0;
  std::vector<LinkOverride> link_overrides;
  std::vector<Path> paths;

  // REQUIRES: the worker exists.
  int rack_of(WorkerId worker) const;
  int host_of(WorkerId worker) const;
  int rack_count() const;

  // How many workers each rack has; of one rack of all, nothing.
  std::vector<int> rack_sizes() const;

  // How many workers each rack has where all have as many and stand in order, rack by rack; 0
  // where they do not, and of one rack of all.
  int equal_rack_size() const;

  // Whether the two are one connection to the network: the same, or those of workers of one host.
  bool is_one_connection(Place a, Place b) const;
};

// Read by all workers of a run; never null.
using SharedTopology = std::shared_ptr<const Topology>;

// Racks that are filled in order: {4, 2} has the workers 0 to 3 in rack 0, and 4 and 5 in rack 1.
// Throws UsageError on racks without workers, and on more workers than memory is taken for.
Topology in_racks(const std::vector<int>& sizes);

struct EqualRacks {
  int racks = 1;
  int workers = 1;  // Of each.
};
Topology in_equal_racks(const EqualRacks& equal);

// What `--racks` says about `workers` workers: "2x4" (racks x workers of each), "4+4+2" (the
// workers of each), or nothing for one rack. Throws UsageError unless they make all workers.
Topology parse_racks(std::string_view text, int workers);

// As parse_racks reads it. REQUIRES: racks are filled in order.
std::string racks_text(const Topology& topology);

}  // namespace huddle
