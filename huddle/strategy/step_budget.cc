#include "huddle/strategy/step_budget.h"

#include <set>

#include "huddle/strategy/lanes.h"

namespace huddle {

StepBudget::StepBudget(const StrategyContext& context, Rates rates)
    : endpoint_(context.endpoint),
      budget_(context.steps * context.endpoint.workers()),
      service_(
          context.endpoint,
          service_terms(context, kBudgetLane,
                        "counted everybody's steps, without which nobody knows when the run is "
                        "over: start again")),
      client_(context.endpoint, service_, kBudgetLane) {
  if (rates == Rates::balanced) shares_.emplace(endpoint_.workers());
}

std::int64_t StepBudget::begun() const {
  std::int64_t granted = 0;
  endpoint_.exclusive([&] { granted = granted_; });
  return is_over_ ? granted : granted - endpoint_.workers();
}

void StepBudget::ask() {
  if (!is_asked()) return;
  start();
  client_.ask({});
}

StepBudget::Grant StepBudget::reply() { return is_asked() ? client_.reply() : Grant{}; }

void StepBudget::leave() {
  if (!is_asked()) return;
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

StepBudget::Grant StepBudget::grant(Endpoint& endpoint, WorkerId worker) {
  const bool go_on = !is_limited() || granted_ < budget_;
  if (go_on) endpoint.exclusive([&] { ++granted_; });
  Grant grant{.go_on = go_on, .steps = granted_};
  if (shares_) {
    shares_->stepped(worker);
    grant.rate_factor = shares_->factor(worker);
  }
  return grant;
}

void StepBudget::serve(Endpoint& endpoint) {
  Requests<Request> requests(endpoint, kBudgetLane);
  std::set<WorkerId> left;
  const auto leaves = [&](WorkerId worker) {
    left.insert(worker);
    if (shares_) shares_->left(worker);
  };
  while (static_cast<int>(left.size()) < endpoint.workers()) try {
      const auto event = requests.next();
      if (event.request.leaves) {
        leaves(event.from);
        continue;
      }
      requests.reply(event.from, event.number, grant(endpoint, event.from));
    } catch (const PeerLost& lost) {
      leaves(lost.peer());
    }
}

}  // namespace huddle
