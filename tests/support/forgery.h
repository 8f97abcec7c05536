// Messages that a process sends which knows the job's token, and that nobody of the job can mean.

#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "huddle/base/pack.h"
#include "huddle/base/random.h"
#include "huddle/transport/process/envelope.h"
#include "huddle/transport/process/goodbye.h"
#include "tests/support/memory_wire.h"

namespace huddle {

// A message that somebody who knows the token has sealed as it should be, in the name of a worker,
// and that cannot be.
struct Forgery {
  Envelope envelope;
  WorkerId sealed_from, sealed_to;
  std::vector<std::byte> data;
  std::size_t header_bytes = sizeof(Envelope);

  void put(const std::string& text) {
    data.assign(reinterpret_cast<const std::byte*>(text.data()),
                reinterpret_cast<const std::byte*>(text.data() + text.size()));
    envelope.bytes = data.size();
  }

  MemoryMessage sealed() {
    envelope.seal = seal_of(seal_key("secret", sealed_from, sealed_to), envelope);
    const auto header = std::as_bytes(std::span(&envelope, 1)).first(header_bytes);
    return {{header.begin(), header.end()}, std::move(data)};
  }
};

// Goodbyes that nobody can have said. Some come with their header, some wait at their sender.
inline std::string no_goodbye(Random& random) {
  Goodbye goodbye{.reason = std::string(random.below(2) == 0 ? 10 : 2000, 'x'), .at = 1};
  switch (random.below(5)) {
    case 0: goodbye.ending = static_cast<WorkerEnding>(4 + random.below(1000)); break;
    case 1: goodbye.at = std::numeric_limits<double>::quiet_NaN(); break;
    case 2: goodbye.has_seen = ~std::uint64_t{0}; break;
    case 3: goodbye.has_left = {7}; break;
    default: {
      const std::string text = packed(goodbye);
      return random.below(2) == 0 ? text + "x" : text.substr(0, random.below(text.size()));
    }
  }
  return packed(goodbye);
}

// Each makes something impossible of a message, and how the log says why that was thrown away. The
// message's turn is left to it where that is possible: thrown away, it must not use up the turn.
struct KindOfForgery {
  const char* fault;
  void (*forge)(Forgery& message, Random& random);
};

// The first that there is not.
inline constexpr std::uint8_t kFirstKind = static_cast<std::uint8_t>(Envelope::Kind::stop) + 1;
inline constexpr std::uint8_t kFirstType = static_cast<std::uint8_t>(at::ScalarType::Undefined);

inline const KindOfForgery kForgeries[] = {
    {"is of no kind that there is",
     [](Forgery& message, Random& random) {
       message.envelope.kind =
           static_cast<Envelope::Kind>(kFirstKind + random.below(256 - kFirstKind));
     }},
    {"is of no kind that there is",
     [](Forgery& message, Random& random) {
       message.envelope.kind = Envelope::Kind::message;
       message.envelope.type =
           static_cast<std::uint8_t>(kFirstType + random.below(256 - kFirstType));
     }},
    {"is of no kind that there is",  // Tags have 30 bits, and few purposes.
     [](Forgery& message, Random& random) {
       message.envelope.kind = Envelope::Kind::message;
       message.envelope.tag |= random.below(2) == 0 ? 1u << (30 + random.below(2)) : 31u << 24;
     }},
    {"is of no kind that there is",  // Not a whole number of numbers.
     [](Forgery& message, Random& random) {
       message.envelope.kind = Envelope::Kind::message;
       message.envelope.type = static_cast<std::uint8_t>(at::kDouble);
       message.put(std::string(8 * random.below(300) + 1 + random.below(7), 'x'));
     }},
    {"is not as long as its header says",
     [](Forgery& message, Random& random) { message.envelope.bytes += 1 + random.below(5000); }},
    {"comes too long before its turn",
     [](Forgery& message, Random& random) {
       message.envelope.sequence += (1 << 17) + (random.below(1000) << 50);
     }},
    {"is not sealed with the token of this job",
     [](Forgery& message, Random&) { std::swap(message.sealed_from, message.sealed_to); }},
    {"names a worker that cannot have sent it",
     [](Forgery& message, Random& random) {
       const int nobody = random.below(2) == 0 ? -1 : 1000;
       message.envelope.from = random.below(2) == 0 ? message.sealed_to.value : nobody;
       message.sealed_from = {message.envelope.from};
     }},
    {"has no header of Huddle's",
     [](Forgery& message, Random& random) {
       message.header_bytes = random.below(sizeof message.envelope);
     }},
    {"is of no run that there is",
     [](Forgery& message, Random& random) {
       message.envelope.run += 2 + static_cast<std::uint32_t>(random.below(1000));
     }},
};

}  // namespace huddle
