#include "huddle/transport/pending.h"

#include <vector>

#include "huddle/base/error.h"

namespace huddle {

std::size_t wait_any(std::span<Pending* const> pendings, Deadline deadline) {
  check(!pendings.empty(), "wait_any on nothing");
  std::vector<Operation*> operations;
  operations.reserve(pendings.size());
  for (Pending* pending : pendings) {
    check(pending->under_way(), "wait_any on an operation that has ended");
    operations.push_back(pending->operation_.get());
  }
  return operations.front()->wait_any(operations, deadline);
}

}  // namespace huddle
