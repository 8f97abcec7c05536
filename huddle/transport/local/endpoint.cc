#include "huddle/transport/local/endpoint.h"

namespace huddle {
namespace {

Pending start(Hub& hub, std::shared_ptr<Transfer> transfer) {
  hub.post(transfer);
  return Pending(std::move(transfer));
}

}  // namespace

HubWorker::HubWorker(Hub& shared, WorkerId self, Memory reach)
    : hub(shared), id(self), memory(reach), lanes(shared, self, [this](const Party& lane) {
        return std::make_unique<HubEndpoint>(*this, lane);
      }) {}

Pending HubEndpoint::send(WorkerId to, Tag tag, at::Tensor data) {
  return start(worker_.hub,
               std::make_shared<Transfer>(worker_.hub, party_, Transfer::Direction::send, to, tag,
                                          std::move(data)));
}

Pending HubEndpoint::receive(WorkerId from, Tag tag, at::Tensor into) {
  check(!is_any_source(tag.purpose), "an any-source purpose is received with receive_any");
  return start(worker_.hub,
               std::make_shared<Transfer>(worker_.hub, party_, Transfer::Direction::receive, from,
                                          tag, std::move(into)));
}

Pending HubEndpoint::receive_any(Tag tag, at::Tensor into) {
  check(is_any_source(tag.purpose), "receive_any takes an any-source purpose");
  return start(worker_.hub,
               std::make_shared<Transfer>(worker_.hub, party_, Transfer::Direction::receive,
                                          kAnybody, tag, std::move(into)));
}

Pending HubEndpoint::watch(const Group& group) {
  const auto watch = std::make_shared<Watch>(worker_.hub, party_, group);
  worker_.hub.begin_watch(watch);
  return Pending(watch);
}

Pending HubEndpoint::spawn(Lane lane, std::function<void(Endpoint&)> program) {
  return worker_.lanes.spawn(party_, lane, std::move(program));
}

void HubEndpoint::compute(Step step, Seconds work) {
  worker_.hub.begin_step(party_, step);
  if (work > 0 || !worker_.hub.cluster().halts.empty())
    worker_.hub.sleep(party_, worker_.hub.cluster().compute_time(worker_.id, step, work));
}

Time HubEndpoint::reduce(const Group& group, Tag tag, at::Tensor mine, int blocks,
                         const Combine& combine, Deadline deadline) {
  return worker_.hub.meet(party_, group, tag, std::move(mine), blocks, combine, deadline);
}

}  // namespace huddle
