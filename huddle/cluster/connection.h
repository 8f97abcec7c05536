// What a cluster's network is made of: the connections of workers and racks, stretches of network
// between two of them, and what disturbs them.

#pragma once

#include <compare>
#include <limits>
#include <optional>
#include <string>

#include "huddle/base/ids.h"

namespace huddle {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr Time kForever = std::numeric_limits<Time>::infinity();

struct Link {
  Seconds latency = 0;
  double bytes_per_second = kUnlimited;
  bool is_free() const { return latency == 0 && bytes_per_second == kUnlimited; }
};

// The connection of one worker to its rack, or of one rack to the others. Each has two directions,
// which do not disturb one another.
struct Place {
  enum class Kind { worker, rack };
  Kind kind = Kind::worker;
  int index = 0;
  auto operator<=>(const Place&) const = default;
};

// "worker 3", "rack 0".
std::string to_string(Place place);

enum class Direction { both, out, in };

// A connection that differs from the general ones.
struct LinkOverride {
  Place place;
  std::optional<double> bytes_per_second;  // Instead of the general one.
  Seconds extra_latency = 0;               // Added to whatever passes it.
};

// A stretch of network of its own between two workers or between two racks, which all messages
// between them share, each direction for itself. Its latency takes the place of the general one;
// its bandwidth binds beside those of the connections at both ends.
struct Path {
  Place a;
  Place b;
  Link link;
};

// Somebody else's traffic on a connection, from one moment to another.
struct Background {
  Place place;
  Direction direction = Direction::both;
  double bytes_per_second = 0;
  bool elastic = false;  // Gives way as a further flow would; otherwise it takes what it takes.
  Time from = 0;
  Time until = kForever;
};

// A connection whose speed changes, as over the air: every so often it is drawn anew, between
// `lowest` and `highest` times its own, each direction by a draw of its own. Several variations of
// one connection multiply.
struct Variation {
  Place place;
  double lowest = 1;
  double highest = 1;
  Seconds every = 1;
};

// A connection breaks at a moment, in both directions, and stays broken.
struct Cut {
  Place place;
  Time time = 0;
};

}  // namespace huddle
