#include "huddle/strategy/step_budget.h"

#include <set>

#include "huddle/strategy/lanes.h"

namespace huddle {

StepBudget::StepBudget(const StrategyContext& context)
    : endpoint_(context.endpoint),
      budget_(context.steps * context.endpoint.workers()),
      service_(
          context.endpoint,
          service_terms(context, kBudgetLane,
                        "counted everybody's steps, without which nobody knows when the run is "
                        "over: start again")),
      client_(context.endpoint, service_, kBudgetLane) {}

std::int64_t StepBudget::begun() const {
  std::int64_t granted = 0;
  endpoint_.exclusive([&] { granted = granted_; });
  return is_over_ ? granted : granted - endpoint_.workers();
}

void StepBudget::ask() {
  if (!is_limited()) return;
  start();
  client_.ask({});
}

StepBudget::Grant StepBudget::reply() { return is_limited() ? client_.reply() : Grant{}; }

void StepBudget::leave() {
  if (!is_limited()) return;
  start();
  client_.tell({.leaves = true});
  service_.join();
  is_over_ = true;
}

void StepBudget::start() {
  if (!service_.is_here() || service_.has_started()) return;
  if (granted_ < 0) resume(0);  // Nobody asks before its first step.
  service_.start([this](Endpoint& beside) { serve(beside); });
}

void StepBudget::serve(Endpoint& endpoint) {
  Requests<Request> requests(endpoint, kBudgetLane);
  std::set<WorkerId> left;
  while (static_cast<int>(left.size()) < endpoint.workers()) try {
      const auto event = requests.next();
      if (event.request.leaves) {
        left.insert(event.from);
        continue;
      }
      const bool go_on = granted_ < budget_;
      if (go_on) endpoint.exclusive([&] { ++granted_; });
      requests.reply(event.from, event.number, Grant{.go_on = go_on, .steps = granted_});
    } catch (const PeerLost& lost) {
      left.insert(lost.peer());
    }
}

}  // namespace huddle
