// One worker's connection to the others in its process: thin, everything shared is in the hub.

#pragma once

#include "huddle/transport/local/hub.h"
#include "huddle/transport/local/lanes.h"

namespace huddle {

// What a worker's body and its lanes have in common.
struct HubWorker {
  enum class Memory { shared, apart };  // Shared: group averages go through native().

  HubWorker(Hub& hub, WorkerId id, Memory memory);

  Hub& hub;
  const WorkerId id;
  const Memory memory;
  Party body{id};  // The worker's own thread of control.
  Lanes lanes;
};

class HubEndpoint final : public Endpoint, private GroupReduce {
 public:
  HubEndpoint(HubWorker& worker, const Party& party) : worker_(worker), party_(party) {}

  WorkerId self() const override { return worker_.id; }
  int workers() const override { return worker_.hub.cluster().workers; }
  Pending send(WorkerId to, Tag tag, at::Tensor data) override;
  Pending receive(WorkerId from, Tag tag, at::Tensor into) override;
  Pending receive_any(Tag tag, at::Tensor into) override;
  Pending watch(const Group& group) override;
  Pending spawn(Lane lane, std::function<void(Endpoint&)> program) override;
  void exclusive(const std::function<void()>& body) override {
    worker_.hub.exclusive(party_, body);
  }
  void compute(Step step, Seconds work) override;
  Time now() const override { return worker_.hub.now(); }
  bool is_virtual() const override { return worker_.hub.scheduler().is_virtual(); }
  GroupReduce* native() override {
    return worker_.memory == HubWorker::Memory::shared ? this : nullptr;
  }

 private:
  Time reduce(const Group& group, Tag tag, at::Tensor mine, int blocks, const Combine& combine,
              Deadline deadline) override;
  std::shared_ptr<const void> share(const std::string& name, const Make& make) override {
    return worker_.hub.commons().get(name, make);
  }

  HubWorker& worker_;
  const Party& party_;
};

}  // namespace huddle
