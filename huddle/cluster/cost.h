// How long an average takes on paper: alpha-beta cost formulas of the algorithms that `algorithm=`
// and schedules choose between.
//
// A message costs its latency (alpha) plus its bytes over the bandwidth (beta). Nothing overlaps
// and nobody's receivers are flooded, so these are the times to beat, not the times to expect. In
// the formulas below M is the payload's bytes, B its buckets (each bucket pays every step's latency
// anew), a the latency, and
//
//   ring(n, w) = B * 2(n-1) * a  +  2(n-1)/n * M/w        with ring(1, w) = 0.
//
// Every function throws UsageError for what cannot be: no bucket, negative bytes or latency,
// bandwidth that is not positive, fewer workers or racks than the algorithm needs. An infinite
// bandwidth costs nothing.

#pragma once

#include <limits>

#include "huddle/base/ids.h"
#include "huddle/cluster/cluster.h"

namespace huddle {

// What is averaged: `bytes` in all, cut into `buckets` messages of equal size.
struct Payload {
  double bytes = 0;
  int buckets = 1;
};

// Workers joined by links that are all alike. For one group out of many, `workers` is the group's
// size.
struct FlatNetwork {
  int workers = 1;
  Link link = {};
};

// Racks of equal size. Inside a rack only the workers' own connections (b) bind; all traffic
// between one rack and the rest passes that rack's uplink (u), each direction for itself. Every hop
// costs the same latency. In the formulas R is the racks, m the workers of each, and N = R*m. At
// least two of each.
struct RackNetwork {
  int racks = 2;
  int per_rack = 2;
  Seconds latency = 0;
  double nic_bytes_per_second = std::numeric_limits<double>::infinity();
  double uplink_bytes_per_second = std::numeric_limits<double>::infinity();
};

// Ring all-reduce: ring(n, w).
Seconds ring_seconds(const FlatNetwork& network, const Payload& payload);

// Two workers send each other everything once: B*a + M/w. A ring of two moves the same bytes for
// twice the latency. `network.workers` plays no part: pairs do not disturb one another.
Seconds pair_seconds(const FlatNetwork& network, const Payload& payload);

// Recursive halving and doubling: B * 2 log2(p) * a + 2(p-1)/p * M/w, where p is the largest power
// of two in n. Where n is none itself, the others hand all they have to a neighbour and get the
// result back: 2(B*a + M/w) more.
Seconds halving_doubling_seconds(const FlatNetwork& network, const Payload& payload);

// Everybody sends everybody's segment straight to its owner and gets the sum back: B * 2a +
// 2(n-1)/n * M/w; nothing for one worker.
Seconds direct_seconds(const FlatNetwork& network, const Payload& payload);

// One ring through all workers, laid out rack by rack, so that one hop each way crosses an uplink:
// ring(N, min(b, u)).
Seconds ring_seconds(const RackNetwork& network, const Payload& payload);

// The same ring laid out as badly as can be, every hop leaving its rack: ring(N, min(b, u/m)).
Seconds scattered_ring_seconds(const RackNetwork& network, const Payload& payload);

// Reduce to a leader in each rack, ring of the leaders, broadcast from them; both ends are
// pipelined chains of m-1 hops: B*a*(2(m-1) + 2(R-1)) + 2*M/b + 2(R-1)/R * M/min(b, u).
Seconds leader_seconds(const RackNetwork& network, const Payload& payload);

// Reduce-scatter in each rack, a ring across the racks for each shard, gather in each rack:
// B*a*(2(m-1) + 2(R-1)) + 2(m-1)/m * M/b + 2(R-1)/R * M/min(m*b, u).
Seconds sharded_seconds(const RackNetwork& network, const Payload& payload);

// A grid schedule in its phase of racks, each averaging in itself: ring(m, b).
Seconds grid_row_seconds(const RackNetwork& network, const Payload& payload);

// A grid schedule in its phase of columns, one worker of each rack: m rings share every uplink,
// ring(R, min(b, u/m)).
Seconds grid_column_seconds(const RackNetwork& network, const Payload& payload);

// What a step of the grid schedule costs on average: the mean of row and column.
Seconds grid_mean_seconds(const RackNetwork& network, const Payload& payload);

// A rotating representative: one worker of each rack averages across the racks while the others of
// each rack average among themselves, and the slower of the two decides: max(ring(R, min(b, u)),
// ring(m-1, b)).
Seconds representative_seconds(const RackNetwork& network, const Payload& payload);

}  // namespace huddle
