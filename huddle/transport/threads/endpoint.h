// One worker's connection on the threads engine: thin, everything shared is in the hub.

#pragma once

#include <mutex>

#include "huddle/transport/threads/hub.h"
#include "huddle/transport/threads/lanes.h"

namespace huddle {

// What a worker's body and its lanes have in common.
struct ThreadsWorker {
  ThreadsWorker(Hub& hub, WorkerId id, bool shares_memory);

  Hub& hub;
  const WorkerId id;
  const bool shares_memory;  // Whether group averages go through native().
  Party body{id};            // The worker's own thread.
  std::mutex exclusive;      // Held by user code; nothing else is locked inside it but the hub.
  Lanes lanes;
};

class ThreadsEndpoint final : public Endpoint, private GroupReduce {
 public:
  ThreadsEndpoint(ThreadsWorker& worker, const Party& party) : worker_(worker), party_(party) {}

  WorkerId self() const override { return worker_.id; }
  int workers() const override { return worker_.hub.cluster().workers; }
  Pending send(WorkerId to, Tag tag, at::Tensor data) override;
  Pending receive(WorkerId from, Tag tag, at::Tensor into) override;
  Pending receive_any(Tag tag, at::Tensor into) override;
  Pending watch(const Group& group) override;
  Pending spawn(Lane lane, std::function<void(Endpoint&)> program) override;
  void exclusive(const std::function<void()>& body) override;
  void compute(Step step, Seconds work) override;
  Time now() const override { return worker_.hub.now(); }
  GroupReduce* native() override { return worker_.shares_memory ? this : nullptr; }

 private:
  Time reduce(const Group& group, Tag tag, at::Tensor mine, int blocks, const Combine& combine,
              Deadline deadline) override;

  ThreadsWorker& worker_;
  const Party& party_;
};

}  // namespace huddle
