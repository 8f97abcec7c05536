// What stands in front of every message between processes: whose it is and what it is about. The
// message library sees bytes; tags, order and the right to speak are ours, because libraries differ
// in the first and have nothing of the last.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "huddle/base/ids.h"

namespace huddle {

struct Envelope {
  enum class Kind : std::uint8_t {
    message,  // Of a worker; the tag says which.
    report,   // For the process of worker 0, which keeps the records of all.
    ending,   // The sender's worker has ended.
    stop,     // The run is to end.
  };

  // Shows that the sender belongs to the job (see pass_of).
  using Pass = std::array<std::uint64_t, 2>;

  Pass pass{};
  std::uint64_t sequence = 0;  // Of this sender's messages to this receiver, over all runs.
  std::uint64_t bytes = 0;     // Of the data.
  std::int32_t from = 0;
  std::uint32_t tag = 0;
  std::uint32_t run = 0;  // Launchers may run more than once: what is left of one run is no part of
                          // the next.
  Kind kind = Kind::message;
  std::uint8_t type = 0;  // Of the numbers, an at::ScalarType.
  std::array<std::uint8_t, 2> unused{};
};
static_assert(sizeof(Envelope) == 48);  // Without gaps: it travels as it is.

// What `from` shows to `to`, out of the job's token. It keeps strangers out, who do not know the
// token; it hides nothing from whoever listens on the way.
Envelope::Pass pass_of(std::string_view token, WorkerId from, WorkerId to);

}  // namespace huddle
