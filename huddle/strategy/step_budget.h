// How many steps all workers together may still take: one counter for those who go at paces of
// their own.
//
// A method without barriers compares with one that has them per sample: when N workers were to take
// T steps each, the run is over after N T steps, whoever took them. The counter is a service; a
// worker asks for its next step while it computes the present one, so the reply costs no waiting
// unless a step is shorter than two latencies. Cost: two control messages per step.
//
// This is no part of any published method. A lost worker's steps that it had been granted (two at
// most) and did not take are not granted again.

#pragma once

#include <cstdint>
#include <optional>

#include "huddle/strategy/entry.h"
#include "huddle/strategy/shares.h"
#include "huddle/transport/requests.h"

namespace huddle {

class StepBudget {
 public:
  // Whether it tells workers by how much to scale their learning rates (shares.h).
  enum class Rates { as_they_are, balanced };

  // The steps of all workers together are those of the context; without, there is no limit, and
  // nobody is asked unless rates are balanced.
  explicit StepBudget(const StrategyContext& context, Rates rates = Rates::as_they_are);

  bool is_limited() const { return budget_ > 0; }

  // How many steps all workers together had begun, for a checkpoint; before the first step, a
  // resumed run says so.
  std::int64_t begun() const;
  void resume(std::int64_t begun) { granted_ = begun + endpoint_.workers(); }

  // At the beginning of every step: may there be another one?
  void ask();

  struct Grant {
    bool go_on = true;
    std::int64_t steps = 0;  // That all workers together had been granted; 0 if nobody is asked.
    double rate_factor = 1;  // Of the worker's next step.
    static auto fields(auto& self) { return std::tie(self.go_on, self.steps, self.rate_factor); }
  };

  // The reply to `ask`. Waits for it.
  Grant reply();

  // No step follows. At its home, waits until everybody has said so or is lost.
  void leave();

 private:
  struct Request {
    bool leaves = false;
    static auto fields(auto& self) { return std::tie(self.leaves); }
  };

  bool is_asked() const { return is_limited() || shares_; }
  void start();
  Grant grant(Endpoint& endpoint, WorkerId worker);
  void serve(Endpoint& endpoint);

  Endpoint& endpoint_;
  const std::int64_t budget_;
  // At its home, everybody's next step included; written in exclusive bodies. -1: nobody began yet.
  std::int64_t granted_ = -1;
  bool is_over_ = false;          // No next step is included any more.
  std::optional<Shares> shares_;  // Where rates are balanced; the service's.
  Service service_;
  Client<Request, Grant> client_;
};

}  // namespace huddle
