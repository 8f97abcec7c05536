#include "huddle/collective/gather.h"

#include <ATen/ops/empty_like.h>

#include "huddle/collective/wait_all.h"

namespace huddle {

std::vector<at::Tensor> gather(Endpoint& endpoint, const Group& group, WorkerId root,
                               const at::Tensor& tensor, Tag tag, Deadline deadline) {
  tag.purpose = Purpose::gather;
  if (endpoint.self() != root) {
    Pending send = endpoint.send(root, tag, tensor);
    wait_all(endpoint, group, {&send, 1}, deadline);
    return {};
  }
  std::vector<at::Tensor> gathered;
  std::vector<Pending> receives;
  for (const WorkerId member : group) {
    gathered.push_back(member == root ? tensor.clone() : at::empty_like(tensor));
    if (member != root) receives.push_back(endpoint.receive(member, tag, gathered.back()));
  }
  wait_all(endpoint, group, receives, deadline);
  return gathered;
}

}  // namespace huddle
