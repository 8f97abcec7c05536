// Values with units, as people write them: "0.1ms", "10Gbps", "102.4MB".

#pragma once

#include <string_view>

#include "huddle/core/ids.h"

namespace huddle {

// `what` names the value in errors ("--latency"). All throw UsageError when the number or the unit
// is missing or wrong, or the value is negative.

// s, ms, us.
Seconds parse_seconds(std::string_view what, std::string_view text);

// B, kB, MB, GB (powers of ten), KiB, MiB, GiB.
double parse_bytes(std::string_view what, std::string_view text);

// bps, kbps, Mbps, Gbps: bits per second; the result is in bytes per second.
double parse_bandwidth(std::string_view what, std::string_view text);

}  // namespace huddle
