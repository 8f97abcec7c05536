#include "huddle/transport/process/goodbye.h"

#include <cmath>

#include "huddle/base/error.h"
#include "huddle/base/pack.h"

namespace huddle {

Goodbye read_goodbye(std::string_view text, std::uint64_t sent) {
  auto goodbye = unpacked<Goodbye>(text);
  check(goodbye.ending <= WorkerEnding::followed,
        "a goodbye tells an end of no kind that there is");
  check(std::isfinite(goodbye.at), "a goodbye was said at no time");
  check(goodbye.has_seen <= sent, "a goodbye tells of messages that were never sent");
  check(goodbye.has_left.empty() || *goodbye.has_left.rbegin() < goodbye.has_seen,
        "a goodbye tells of data that it has not seen");
  return goodbye;
}

}  // namespace huddle
