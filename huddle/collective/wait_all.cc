#include "huddle/collective/wait_all.h"

#include <vector>

namespace huddle {

void wait_all(Endpoint& endpoint, const Group& group, std::span<Pending> pendings,
              Deadline deadline) {
  Pending losses = endpoint.watch(group);
  for (Pending& pending : pendings) {
    Pending* const either[] = {
        &losses, &pending};  // The death of a member explains whatever else has failed.
    if (pending.under_way() && wait_any(either, deadline) == 0) losses.wait(deadline);  // Throws.
    pending.wait(deadline);
  }
}

}  // namespace huddle
