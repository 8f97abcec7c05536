#include "huddle/transport/threads/injected_links.h"

#include <algorithm>

namespace huddle {

InjectedLinks::InjectedLinks(const Cluster& cluster)
    : network_(cluster), free_at_(network_.links().size(), 0) {}

Scheduler::Arrival InjectedLinks::carry(const Parcel& parcel) {
  if (network_.is_free()) return {parcel.sent, parcel.sent};
  const Network::Route route = network_.route(parcel.from, parcel.to);
  Time begin = parcel.sent;
  for (const int link : route.links)
    begin = std::max(begin, free_at_[static_cast<std::size_t>(link)]);
  Time end = begin;
  for (const int link : route.links) {
    Time& free_at = free_at_[static_cast<std::size_t>(link)];
    free_at =
        begin + parcel.bytes / network_.links()[static_cast<std::size_t>(link)].bytes_per_second;
    end = std::max(end, free_at);
  }
  return {begin + route.latency, end + route.latency};
}

}  // namespace huddle
