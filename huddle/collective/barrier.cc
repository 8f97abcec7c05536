#include "huddle/collective/barrier.h"

#include <ATen/ops/empty.h>

#include "huddle/collective/wait_all.h"

namespace huddle {

void barrier(Endpoint& endpoint, const Group& group, Tag tag, Deadline deadline) {
  tag.kind = Kind::control;
  tag.purpose = Purpose::barrier;
  const int members = group.size();
  const int position = group.position_of(endpoint.self());
  const at::Tensor nothing = at::empty({0});
  for (int distance = 1; distance < members; distance *= 2) {
    Pending signals[] = {
        endpoint.send(group[(position + distance) % members], tag, nothing),
        endpoint.receive(group[(position + members - distance) % members], tag, nothing)};
    wait_all(endpoint, group, signals, deadline);
  }
}

}  // namespace huddle
