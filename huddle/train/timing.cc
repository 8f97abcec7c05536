#include "huddle/train/timing.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <limits>

#include "huddle/collective/average.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step.h"
#include "huddle/train/logged_run.h"

namespace huddle {
namespace {

// Into how many parameters the model is cut: as fine as anybody would want its buckets.
constexpr std::int64_t kParameters = 256;

at::Tensor without_numbers(std::int64_t elements) {
  return at::empty({elements}, at::TensorOptions().dtype(at::kFloat).device(at::kMeta));
}

std::vector<std::int64_t> parameter_sizes(std::int64_t elements) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < kParameters; ++i)
    sizes.push_back(elements * (i + 1) / kParameters - elements * i / kParameters);
  return sizes;
}

void live_through(Endpoint& endpoint, std::int64_t elements, const TrainOptions& options,
                  const StepObserver& observer, WorkerLog& log) {
  Replica replica(without_numbers(elements), without_numbers(elements), without_numbers(0),
                  parameter_sizes(elements), UpdateRule(options.update));
  Meter meter;
  if (options.keeps_blocked) meter.keep_blocked();
  const std::unique_ptr<Strategy> strategy = make_strategy(
      options.strategy,
      {endpoint, replica, meter,
       whole_messages_if_virtual(
           {.workers_per_rack = options.workers_per_rack, .deadline = options.deadline}, endpoint),
       options.clip_norm, options.steps});
  const Seconds backward = options.compute.per_step * options.compute.backward_share;
  log.parameters = elements;
  log.has_own_pace = traits_of(options.strategy).pace == Pace::own;
  bool go_on = true;
  for (Step step; go_on && (log.has_own_pace || step.value < options.steps); ++step.value) {
    const Time begin = endpoint.now();
    endpoint.compute(step, 0);
    strategy->before_forward(step);
    endpoint.compute(step, options.compute.per_step - backward);
    replay_backward(endpoint, *strategy, replica, step, backward);
    const Outcome outcome = take_step(*strategy, replica, step);
    go_on = outcome.go_on;
    observer(log.add(endpoint.self(), {.step = step,
                                       .begin = begin,
                                       .end = endpoint.now(),
                                       .loss = std::numeric_limits<double>::quiet_NaN(),
                                       .traffic = meter.take(),
                                       .group = outcome.group,
                                       .meeting = outcome.meeting,
                                       .progress = outcome.progress}));
  }
  strategy->finish();
  const std::vector<Blocked> blocked = log.add_traffic(meter.take());
  if (!blocked.empty()) options.finished(endpoint.self(), blocked);
  log.figures = strategy->figures();
}

}  // namespace

TrainResult time_strategy(Launcher& launcher, double model_bytes, const TrainOptions& options,
                          const StepObserver& observer) {
  const auto elements = static_cast<std::int64_t>(std::llround(model_bytes / sizeof(float)));
  return run_logged(launcher, options, [&](Endpoint& endpoint, WorkerLog& log) {
    live_through(endpoint, elements, options, observer, log);
  });
}

}  // namespace huddle
