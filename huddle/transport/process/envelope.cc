#include "huddle/transport/process/envelope.h"

#include <cstring>

#include "huddle/base/sha256.h"
#include "huddle/base/text.h"

namespace huddle {

Envelope::Pass pass_of(std::string_view token, WorkerId from, WorkerId to) {
  const Digest digest = sha256(concat("huddle ", token, " from ", from.value, " to ", to.value));
  Envelope::Pass pass;
  static_assert(sizeof pass <= sizeof digest);
  std::memcpy(pass.data(), digest.data(), sizeof pass);
  return pass;
}

}  // namespace huddle
