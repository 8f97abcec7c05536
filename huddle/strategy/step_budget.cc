#include "huddle/strategy/step_budget.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/patience.h"

namespace huddle {
namespace {

constexpr WorkerId kHost{0};
constexpr Tag kRequestTag{Kind::control, Purpose::request, kBudgetLane, {}};
constexpr Tag kGrantTag{Kind::control, Purpose::message, kBudgetLane, {}};

at::Tensor two_numbers(double first, double second) {
  return at::tensor(std::vector<double>{first, second}, at::kDouble);
}

}  // namespace

std::int64_t StepBudget::begun() const {
  std::int64_t granted = 0;
  endpoint_.exclusive([&] { granted = granted_; });
  return is_over_ ? granted : granted - endpoint_.workers();
}

void StepBudget::ask() {
  if (!is_limited()) return;
  start();
  answer_ = at::zeros({2}, at::kDouble);
  answered_ = endpoint_.receive(kHost, kGrantTag, answer_);
  send_request(true);
}

StepBudget::Grant StepBudget::answer() {
  if (!is_limited()) return {};
  if (program_.under_way()) {  // If the counter failed, no answer will come.
    const std::array<Pending*, 2> either{&answered_, &program_};
    if (wait_any(either, deadline_) == 1) program_.wait(deadline_);
  }
  answered_.wait(deadline_);
  const double* const numbers = answer_.const_data_ptr<double>();
  return {.go_on = numbers[0] != 0, .steps = static_cast<std::int64_t>(numbers[1])};
}

void StepBudget::leave() {
  if (!is_limited()) return;
  start();
  send_request(false);
  asked_.wait(deadline_);
  program_.wait(deadline_);
  is_over_ = true;
}

void StepBudget::start() {
  if (is_started_ || endpoint_.self() != kHost) return;
  is_started_ = true;
  if (granted_ < 0) resume(0);  // Nobody asks before its first step.
  program_ = endpoint_.spawn(kBudgetLane, [this](Endpoint& beside) { serve(beside); });
}

void StepBudget::send_request(bool asks) {
  asked_ = endpoint_.send(kHost, kRequestTag, two_numbers(endpoint_.self().value, asks ? 1 : 0));
}

void StepBudget::serve(Endpoint& endpoint) {
  std::set<WorkerId> left;
  std::map<WorkerId, Pending> answers;
  at::Tensor request = at::zeros({2}, at::kDouble);
  while (static_cast<int>(left.size()) < endpoint.workers()) try {
      Pending asked = endpoint.receive_any(kRequestTag, request);
      wait_patiently(asked);
      const WorkerId worker{static_cast<int>(request.const_data_ptr<double>()[0])};
      if (request.const_data_ptr<double>()[1] == 0) {
        left.insert(worker);
        continue;
      }
      const bool go_on = granted_ < budget_;
      if (go_on) endpoint.exclusive([&] { ++granted_; });
      answers[worker] = endpoint.send(worker, kGrantTag,
                                      two_numbers(go_on ? 1 : 0, static_cast<double>(granted_)));
    } catch (const PeerLost& lost) {
      left.insert(lost.peer());
    }
}

}  // namespace huddle
