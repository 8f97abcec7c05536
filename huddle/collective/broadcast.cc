#include "huddle/collective/broadcast.h"

#include <bit>
#include <vector>

#include "huddle/collective/wait_all.h"

namespace huddle {

void broadcast(Endpoint& endpoint, const Group& group, WorkerId root, const at::Tensor& tensor,
               Tag tag, Deadline deadline) {
  tag.purpose = Purpose::broadcast;
  const int members = group.size();
  const int root_position = group.position_of(root);
  const auto member = [&](int place) {
    return group[(place + root_position) % members];
  };  // The root has place 0.
  const int place = (group.position_of(endpoint.self()) + members - root_position) % members;

  // The parent of a place is the place without its highest bit; its children add a bit above that.
  const auto highest = static_cast<int>(std::bit_floor(static_cast<unsigned>(place)));
  if (place > 0) {
    Pending receive = endpoint.receive(member(place - highest), tag, tensor);
    wait_all(endpoint, group, {&receive, 1}, deadline);
  }
  std::vector<Pending> sends;
  for (int bit = place == 0 ? 1 : 2 * highest; place + bit < members; bit *= 2)
    sends.push_back(endpoint.send(member(place + bit), tag, tensor));
  wait_all(endpoint, group, sends, deadline);
}

}  // namespace huddle
