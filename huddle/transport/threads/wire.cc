#include "huddle/transport/threads/wire.h"

#include <algorithm>

namespace huddle {

Wire::Wire(const Cluster& cluster)
    : cluster_(cluster),
      outgoing_free_at_(static_cast<std::size_t>(cluster.workers), 0),
      incoming_free_at_(static_cast<std::size_t>(cluster.workers), 0) {}

Time Wire::arrival(const Message& message, Time now) {
  const Link& link = cluster_.link(message.from, message.to);
  if (link.is_free()) return now;
  Time& outgoing = outgoing_free_at_[static_cast<std::size_t>(message.from.value)];
  Time& incoming = incoming_free_at_[static_cast<std::size_t>(message.to.value)];
  const Time begin = std::max({now, outgoing, incoming});
  outgoing = incoming = begin + static_cast<double>(message.bytes) / link.bytes_per_second;
  return outgoing + link.latency;
}

}  // namespace huddle
