#include "huddle/strategy/patience.h"

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr Deadline kLookUp{60};

}  // namespace

void wait_patiently(Pending& pending) {
  if (!pending.under_way()) return;
  Pending* const alone = &pending;
  wait_patiently(std::span(&alone, 1));
  pending.wait(kLookUp);
}

std::size_t wait_patiently(std::span<Pending* const> pendings) {
  while (true) {
    try {
      return wait_any(pendings, kLookUp);
    } catch (const Timeout&) {
      continue;
    }
  }
}

}  // namespace huddle
