#include "huddle/strategy/step_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"

namespace huddle {

StepLoop::StepLoop(Endpoint& endpoint, Replica& replica, std::string_view strategy,
                   const LoopOptions& options)
    : StepLoop(
          endpoint, replica,
          [strategy](const StrategyContext& context) { return make_strategy(strategy, context); },
          options, traits_of(strategy)) {
  settled_ = huddle::settled(strategy, {endpoint, replica, meter_, options_.averaging});
}

StepLoop::StepLoop(Endpoint& endpoint, Replica& replica, const MakeStrategy& strategy,
                   const LoopOptions& options, const Traits& traits)
    : endpoint_(endpoint), replica_(replica), options_(options), traits_(traits) {
  if (options.keeps_blocked) meter_.keep_blocked();
  strategy_ = strategy({endpoint_, replica_, meter_, options.averaging, options.clip_norm,
                        options.steps, options.home});
}

void StepLoop::begin(int passes) {
  // In virtual time nothing is left out: whoever waited for others to be measured has waited.
  ready_at_ = endpoint_.now();
  last_ = {.step = step_,
           .begin = endpoint_.is_virtual() && step_ > first_ ? last_.end : ready_at_,
           .learning_rate = replica_.learning_rate() * replica_.rate_factor(),
           .rate_factor = replica_.rate_factor()};
  endpoint_.compute(step_, 0);  // Errors name this step.
  start();
  strategy_->before_forward(step_);
  passes_ = passes;
  endpoint_.compute(step_,
                    options_.compute.per_step * (1 - options_.compute.backward_share) * passes);
}

void StepLoop::replay_backward() {
  const Seconds seconds = options_.compute.per_step * options_.compute.backward_share * passes_;
  const auto elements =
      static_cast<double>(std::max<std::int64_t>(1, replica_.parameters().numel()));
  for (const Bucket& bucket : replica_.buckets()) {
    endpoint_.compute(step_, seconds * static_cast<double>(bucket.range.size()) / elements);
    ready(bucket);
  }
}

const Outcome& StepLoop::end() {
  const Update update = strategy_->before_update(step_);
  if (update == Update::skip) return skip();
  if (update == Update::apply) {
    replica_.clip_gradients(options_.clip_norm);
    replica_.update(replica_.everything());
  }
  replica_.end_update();
  ++steps_taken_;
  return count(strategy_->parameters_updated(step_));
}

const Outcome& StepLoop::skip() { return count(strategy_->skipped(step_)); }

const Outcome& StepLoop::count(Outcome outcome) {
  last_.end = endpoint_.now();
  last_.outcome = std::move(outcome);
  progress_ = last_.outcome.progress;
  ++step_.value;
  return last_.outcome;
}

bool StepLoop::is_over() const {
  const bool counts = traits_.pace == Pace::lockstep && options_.steps > 0;
  return !last_.outcome.go_on || (counts && step_.value >= options_.steps);
}

void StepLoop::start() {
  if (!std::exchange(has_started_, true)) strategy_->start();
}

void StepLoop::finish() {
  start();
  strategy_->finish();
  // Workers' last steps may have told them of other moments, but the run is over for all.
  if (traits_.pace == Pace::own && options_.steps > 0)
    progress_ = static_cast<double>(options_.steps);
}

StepTaken StepLoop::take() {
  StepTaken taken = last_;
  taken.traffic = meter_.take();
  if (ready_at_ > taken.begin) {
    taken.traffic.time.wait += ready_at_ - taken.begin;
    if (options_.keeps_blocked)
      taken.traffic.blocked.insert(taken.traffic.blocked.begin(),
                                   {taken.begin, ready_at_, ready_at_});
  }
  return taken;
}

void StepLoop::save(Archive& archive) const {
  strategy_->save(archive);
  archive.numbers["step"] = step_.value;
  archive.numbers["steps_taken"] = steps_taken_;
  archive.numbers["progress"] = std::llround(progress_);
  archive.numbers["updates"] = replica_.updates();
}

void StepLoop::load(const Archive& archive) {
  for (const char* const count : {"step", "progress", "updates"})
    if (!archive.numbers.contains(count))
      throw UsageError("the checkpoint does not say how many steps it has done.");
  first_ = step_ = Step{archive.numbers.at("step")};
  const auto taken = archive.numbers.find("steps_taken");
  steps_taken_ = taken != archive.numbers.end() ? taken->second : step_.value;
  progress_ = static_cast<double>(archive.numbers.at("progress"));
  replica_.set_updates(archive.numbers.at("updates"));
  strategy_->load(archive);
}

}  // namespace huddle
