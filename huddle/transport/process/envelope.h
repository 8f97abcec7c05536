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
    loss,     // Somebody else's process is gone.
    stop,     // The run is to end.
  };

  std::uint64_t seal = 0;      // Over all that follows (seal_of).
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
static_assert(sizeof(Envelope) == 40);  // Without gaps: it travels as it is.

// What only the processes of a job can make: the key of a connection comes of the job's token, and
// who does not know it cannot seal an envelope, nor change one on its way. The data behind it is
// neither sealed nor hidden: whoever listens on the way can read it.
using SealKey = std::array<std::uint64_t, 2>;
SealKey seal_key(std::string_view token, WorkerId from, WorkerId to);

// SipHash-2-4 of the envelope without its seal: made for short messages and a secret key.
std::uint64_t seal_of(const SealKey& key, const Envelope& envelope);

}  // namespace huddle
