// A tag says which messages belong together: two match when sender, receiver and all four fields
// are equal.
//
// Packs into 30 bits, which every message library accepts.

#pragma once

#include <cstdint>

namespace huddle {

// Simulation may scale the wire size of payload; control messages are never scaled.
enum class Kind : std::uint8_t { payload, control };

// What a message is for. Each purpose is either addressed (received from one peer) or any-source (a
// service), never both.
enum class Purpose : std::uint8_t { average, broadcast, gather, barrier, message, request };

constexpr bool is_any_source(Purpose purpose) { return purpose == Purpose::request; }

constexpr const char* name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::average: return "an average";
    case Purpose::broadcast: return "a broadcast";
    case Purpose::gather: return "a gather";
    case Purpose::barrier: return "a barrier";
    case Purpose::message: return "a message";
    case Purpose::request: return "a request";
  }
  return "?";
}

// Keeps the messages of programs that run beside one another apart. Lane 0 is the worker's own
// body.
struct Lane {
  std::uint8_t value = 0;
  auto operator<=>(const Lane&) const = default;
};
inline constexpr Lane kMainLane{0};

// For what is measured rather than trained (drift, consensus, the first broadcast); no strategy
// uses it, and in simulation it takes no time.
inline constexpr Lane kMeasureLane{63};

// Separates groups and steps; wraps around.
struct Sequence {
  std::uint32_t value = 0;
};

struct Tag {
  Kind kind = Kind::payload;
  Purpose purpose = Purpose::message;
  Lane lane;
  Sequence sequence;
};

// 1 bit kind, 5 bits purpose, 6 bits lane, 18 bits sequence.
inline constexpr int kLanes = 1 << 6;
inline constexpr std::uint32_t kSequences = 1u << 18;

constexpr std::uint32_t pack(const Tag& tag) {
  return static_cast<std::uint32_t>(tag.kind) << 29 |
         static_cast<std::uint32_t>(tag.purpose) << 24 |
         static_cast<std::uint32_t>(tag.lane.value % kLanes) << 18 |
         (tag.sequence.value % kSequences);
}

}  // namespace huddle
