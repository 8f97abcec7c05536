// How many steps all workers together may still take: one counter for those who go at paces of
// their own.
//
// A method without barriers compares with one that has them per sample: when N workers were to take
// T steps each, the run is over after N T steps, whoever took them. The counter is a program beside
// worker 0; a worker asks for its next step while it computes the present one, so the answer costs
// no waiting unless a step is shorter than two latencies. Cost: two control messages per step.
//
// This is no part of any published method. A lost worker's steps that it had been granted (two at
// most) and did not take are not granted again.

#pragma once

#include <cstdint>

#include "huddle/base/ids.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

class StepBudget {
 public:
  // `budget`: the steps of all workers together; 0: there is no limit, and nobody is asked.
  StepBudget(Endpoint& endpoint, std::int64_t budget, Deadline deadline)
      : endpoint_(endpoint), budget_(budget), deadline_(deadline) {}

  bool is_limited() const { return budget_ > 0; }

  // How many steps all workers together had begun, for a checkpoint; before the first step, a
  // resumed run says so.
  std::int64_t begun() const;
  void resume(std::int64_t begun) { granted_ = begun + endpoint_.workers(); }

  // At the beginning of every step: may there be another one?
  void ask();

  struct Grant {
    bool go_on = true;
    std::int64_t steps = 0;  // That all workers together had been granted; 0 without a limit.
  };

  // The answer to `ask`. Waits for it.
  Grant answer();

  // No step follows. On worker 0, waits until everybody has said so or is lost.
  void leave();

 private:
  void start();
  void serve(Endpoint& endpoint);
  void send_request(bool asks);

  Endpoint& endpoint_;
  const std::int64_t budget_;
  const Deadline deadline_;
  // Of worker 0, everybody's next step included; written in exclusive bodies. -1: nobody began yet.
  std::int64_t granted_ = -1;
  bool is_started_ = false;
  bool is_over_ = false;  // No next step is included any more.
  Pending asked_;
  Pending answered_;
  at::Tensor answer_;
  Pending program_;  // Last: it ends before what it uses.
};

}  // namespace huddle
