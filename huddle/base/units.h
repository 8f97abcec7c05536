// Values with units, as people write them: "0.1ms", "10Gbps", "102.4MB".

#pragma once

#include <string_view>

#include "huddle/base/ids.h"

namespace huddle {

// The longest time that anything may take or happen at, some 30 years: an engine's clock still
// tells microseconds apart after it.
inline constexpr Seconds kLongestTime = 1e9;

// What a model may count for on the network, 1 kB to 100 TB: less would be lost among latencies
// and control messages, more could not be counted in bytes for long.
inline constexpr double kLeastWireBytes = 1e3;
inline constexpr double kMostWireBytes = 1e14;

// `what` names the value in errors ("--latency"). All throw UsageError when the number or the unit
// is missing or wrong, or the value is negative or not finite.

// s, ms, us. At most kLongestTime.
Seconds parse_seconds(std::string_view what, std::string_view text);

// B, kB, MB, GB (powers of ten), KiB, MiB, GiB.
double parse_bytes(std::string_view what, std::string_view text);

// Likewise, from kLeastWireBytes to kMostWireBytes.
double parse_wire(std::string_view what, std::string_view text);

// bps, kbps, Mbps, Gbps: bits per second; the result is in bytes per second.
double parse_bandwidth(std::string_view what, std::string_view text);

}  // namespace huddle
