#include "huddle/cluster/cost.h"

#include <algorithm>
#include <bit>

#include "huddle/base/error.h"

namespace huddle {
namespace {

void require_possible(const FlatNetwork& network, const Payload& payload) {
  if (!(payload.bytes >= 0 && payload.buckets >= 1 && network.workers >= 1 &&
        network.link.latency >= 0 && network.link.bytes_per_second > 0))
    throw UsageError(
        "a cost needs at least one worker and one bucket, a bandwidth above zero, and no negative "
        "bytes or latency.");
}

void require_possible(const RackNetwork& network, const Payload& payload) {
  if (!(network.racks >= 2 && network.per_rack >= 2 && network.uplink_bytes_per_second > 0))
    throw UsageError("costs by rack need two racks of two workers and an open uplink, or more.");
  require_possible(
      {.workers = network.per_rack,
       .link = {.latency = network.latency, .bytes_per_second = network.nic_bytes_per_second}},
      payload);
}

// 2(n-1)/n: the share of the payload that each of n members passes on in reduce-scatter and gather.
double ring_share(int members) { return 2.0 * (members - 1) / members; }

// ring(n, w) of the header, of any ring inside the racks.
Seconds ring_in(const RackNetwork& network, int members, const Payload& payload,
                double bytes_per_second) {
  require_possible(network, payload);
  return ring_seconds(
      FlatNetwork{.workers = members,
                  .link = {.latency = network.latency, .bytes_per_second = bytes_per_second}},
      payload);
}

// Both hierarchical forms walk 2(m-1) hops inside the racks and 2(R-1) between them.
Seconds hierarchical_latency(const RackNetwork& network, const Payload& payload) {
  const int hops = 2 * (network.per_rack - 1) + 2 * (network.racks - 1);
  return payload.buckets * network.latency * hops;
}

double nic_or_uplink(const RackNetwork& network) {
  return std::min(network.nic_bytes_per_second, network.uplink_bytes_per_second);
}

// What each worker gets when all workers of a rack cross its uplink at once.
double nic_or_uplink_share(const RackNetwork& network) {
  return std::min(network.nic_bytes_per_second, network.uplink_bytes_per_second / network.per_rack);
}

int workers_of(const RackNetwork& network) { return network.racks * network.per_rack; }

}  // namespace

Seconds ring_seconds(const FlatNetwork& network, const Payload& payload) {
  require_possible(network, payload);
  const Seconds latencies = payload.buckets * 2.0 * (network.workers - 1) * network.link.latency;
  return latencies + ring_share(network.workers) * payload.bytes / network.link.bytes_per_second;
}

Seconds pair_seconds(const FlatNetwork& network, const Payload& payload) {
  require_possible(network, payload);
  return payload.buckets * network.link.latency + payload.bytes / network.link.bytes_per_second;
}

Seconds halving_doubling_seconds(const FlatNetwork& network, const Payload& payload) {
  require_possible(network, payload);
  const auto workers = static_cast<unsigned>(network.workers);
  const int power = static_cast<int>(std::bit_floor(workers));
  const int extra = std::has_single_bit(workers) ? 0 : 2;
  const int messages = 2 * (std::bit_width(workers) - 1) + extra;
  return payload.buckets * messages * network.link.latency +
         (ring_share(power) + extra) * payload.bytes / network.link.bytes_per_second;
}

Seconds direct_seconds(const FlatNetwork& network, const Payload& payload) {
  require_possible(network, payload);
  if (network.workers == 1) return 0;
  return payload.buckets * 2.0 * network.link.latency +
         ring_share(network.workers) * payload.bytes / network.link.bytes_per_second;
}

Seconds ring_seconds(const RackNetwork& network, const Payload& payload) {
  return ring_in(network, workers_of(network), payload, nic_or_uplink(network));
}

Seconds scattered_ring_seconds(const RackNetwork& network, const Payload& payload) {
  return ring_in(network, workers_of(network), payload, nic_or_uplink_share(network));
}

Seconds leader_seconds(const RackNetwork& network, const Payload& payload) {
  require_possible(network, payload);
  const Seconds in_racks = 2 * payload.bytes / network.nic_bytes_per_second;
  const Seconds between = ring_share(network.racks) * payload.bytes / nic_or_uplink(network);
  return hierarchical_latency(network, payload) + in_racks + between;
}

Seconds sharded_seconds(const RackNetwork& network, const Payload& payload) {
  require_possible(network, payload);
  const int members = network.per_rack;
  const double rack_bytes_per_second =
      std::min(members * network.nic_bytes_per_second, network.uplink_bytes_per_second);
  const Seconds in_racks = ring_share(members) * payload.bytes / network.nic_bytes_per_second;
  const Seconds between = ring_share(network.racks) * payload.bytes / rack_bytes_per_second;
  return hierarchical_latency(network, payload) + in_racks + between;
}

Seconds grid_row_seconds(const RackNetwork& network, const Payload& payload) {
  return ring_in(network, network.per_rack, payload, network.nic_bytes_per_second);
}

Seconds grid_column_seconds(const RackNetwork& network, const Payload& payload) {
  return ring_in(network, network.racks, payload, nic_or_uplink_share(network));
}

Seconds grid_mean_seconds(const RackNetwork& network, const Payload& payload) {
  return (grid_row_seconds(network, payload) + grid_column_seconds(network, payload)) / 2;
}

Seconds representative_seconds(const RackNetwork& network, const Payload& payload) {
  const int others = network.per_rack - 1;
  return std::max(ring_in(network, network.racks, payload, nic_or_uplink(network)),
                  ring_in(network, others, payload, network.nic_bytes_per_second));
}

}  // namespace huddle
