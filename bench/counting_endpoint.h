// An endpoint that counts what its worker makes to be shared, and passes everything on.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "huddle/transport/endpoint.h"

namespace huddle {

// `endpoint` has a native reduce; `made` counts for all workers.
class CountingEndpoint final : public Endpoint, private GroupReduce {
 public:
  CountingEndpoint(Endpoint& endpoint, std::atomic<int>& made) : endpoint_(endpoint), made_(made) {}

  WorkerId self() const override { return endpoint_.self(); }
  int workers() const override { return endpoint_.workers(); }
  Pending send(WorkerId to, Tag tag, at::Tensor data) override {
    return endpoint_.send(to, tag, std::move(data));
  }
  Pending receive(WorkerId from, Tag tag, at::Tensor into) override {
    return endpoint_.receive(from, tag, std::move(into));
  }
  Pending receive_any(Tag tag, at::Tensor into) override {
    return endpoint_.receive_any(tag, std::move(into));
  }
  Pending watch(const Group& group) override { return endpoint_.watch(group); }
  Pending spawn(Lane lane, std::function<void(Endpoint&)> program) override {
    return endpoint_.spawn(lane, std::move(program));
  }
  void exclusive(const std::function<void()>& body) override { endpoint_.exclusive(body); }
  void compute(Step step, Seconds work) override { endpoint_.compute(step, work); }
  Time now() const override { return endpoint_.now(); }
  bool is_virtual() const override { return endpoint_.is_virtual(); }
  GroupReduce* native() override { return this; }

 private:
  Time reduce(const Group& group, Tag tag, at::Tensor mine, int blocks, const Combine& combine,
              Deadline deadline) override {
    return endpoint_.native()->reduce(group, tag, std::move(mine), blocks, combine, deadline);
  }
  std::shared_ptr<const void> share(const std::string& name, const Make& make) override {
    return endpoint_.native()->share(name, [&] {
      ++made_;
      return make();
    });
  }

  Endpoint& endpoint_;
  std::atomic<int>& made_;
};

}  // namespace huddle
