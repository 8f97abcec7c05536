#include "huddle/strategy/shares.h"

#include <algorithm>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr int kStepsOfEach = 50;
constexpr int kFewestSteps = 400;

}  // namespace

Shares::Shares(int workers) : present_(workers) {
  check(workers >= 1, "shares of nobody");
  // A multiple of the number of workers: those who take turns have exactly equal shares.
  const int turns = std::max(kStepsOfEach, (kFewestSteps + workers - 1) / workers);
  known_.assign(static_cast<std::size_t>(workers), {.steps = turns});
  for (int turn = 0; turn < turns; ++turn)
    for (int worker = 0; worker < workers; ++worker) last_.push_back({worker});
  steps_ = static_cast<std::int64_t>(last_.size());
}

void Shares::stepped(WorkerId worker) {
  check(!known(worker).has_left, "a step of a worker that has left");
  Known& forgotten = known(last_[oldest_]);
  --forgotten.steps;
  if (!forgotten.has_left) --steps_;
  last_[oldest_] = worker;
  oldest_ = (oldest_ + 1) % last_.size();
  ++known(worker).steps;
  ++steps_;
}

void Shares::left(WorkerId worker) {
  if (known(worker).has_left) return;
  known(worker).has_left = true;
  --present_;
  steps_ -= known(worker).steps;
}

double Shares::share(WorkerId worker) const {
  if (known(worker).has_left || known(worker).steps == 0) return 0;
  return static_cast<double>(known(worker).steps) / static_cast<double>(steps_);
}

double Shares::factor(WorkerId worker) const {
  check(!known(worker).has_left, "the factor of a worker that has left");
  double weighted = 0;
  for (const Known& each : known_)
    if (!each.has_left) weighted += static_cast<double>(each.steps) * bounded_factor(each);
  // Nobody who is left has taken any of these steps.
  if (weighted == 0) return 1;
  return bounded_factor(known(worker)) * static_cast<double>(steps_) / weighted;
}

double Shares::bounded_factor(const Known& worker) const {
  const auto fair = static_cast<double>(steps_) / static_cast<double>(present_);
  return worker.steps == 0 ? kLargestFactor
                           : std::min(kLargestFactor, fair / static_cast<double>(worker.steps));
}

}  // namespace huddle
