#include "huddle/collective/roll_call.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <set>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr WorkerId kHost{0};

// Waits until each worker has reported or is lost; one that is lost after its report is not there.
std::set<WorkerId> reported(Endpoint& endpoint, Tag tag, Deadline deadline) {
  std::set<WorkerId> present{kHost};
  std::set<WorkerId> lost;
  const at::Tensor who = at::zeros({1}, at::kDouble);
  while (static_cast<int>(present.size() + lost.size()) < endpoint.workers()) try {
      endpoint.receive_any(tag, who).wait(deadline);
      present.insert(WorkerId{static_cast<int>(who.item<double>())});
    } catch (const PeerLost& gone) {
      present.erase(gone.peer());
      lost.insert(gone.peer());
    }
  return present;
}

Group members_of(const at::Tensor& flags) {
  std::vector<WorkerId> members;
  for (int worker = 0; worker < static_cast<int>(flags.numel()); ++worker)
    if (flags.const_data_ptr<double>()[worker] != 0) members.push_back(WorkerId{worker});
  return Group(members);
}

}  // namespace

Group roll_call(Endpoint& endpoint, Lane lane, Deadline deadline) {
  const Tag report{Kind::control, Purpose::request, lane, {}};
  const Tag reply{Kind::control, Purpose::message, lane, {}};
  const at::Tensor flags = at::zeros({endpoint.workers()}, at::kDouble);
  if (endpoint.self() != kHost) {
    Pending answered = endpoint.receive(kHost, reply, flags);
    endpoint.send(kHost, report, at::scalar_tensor(endpoint.self().value, at::kDouble).reshape(1));
    answered.wait(deadline);
    return members_of(flags);
  }
  for (const WorkerId worker : reported(endpoint, report, deadline))
    flags.mutable_data_ptr<double>()[worker.value] = 1;
  const Group present = members_of(flags);
  // Nobody waits for a reply to arrive: a worker that has died since is missed by what follows.
  for (const WorkerId worker : present)
    if (worker != kHost) endpoint.send(worker, reply, flags);
  return present;
}

}  // namespace huddle
