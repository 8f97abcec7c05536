#include "huddle/train/timing.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "huddle/collective/average.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/train/logged_run.h"

namespace huddle {
namespace {

// Into how many parameters the model is cut: as fine as anybody would want its buckets.
constexpr std::int64_t kParameters = 256;

// Real networks carry bytes, so there the model has numbers, though nothing is made of them.
at::Tensor flat_tensor(std::int64_t elements, const Endpoint& endpoint) {
  return endpoint.is_virtual()
             ? at::empty({elements}, at::TensorOptions().dtype(at::kFloat).device(at::kMeta))
             : at::zeros({elements}, at::kFloat);
}

std::vector<std::int64_t> parameter_sizes(std::int64_t elements) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < kParameters; ++i)
    sizes.push_back(elements * (i + 1) / kParameters - elements * i / kParameters);
  return sizes;
}

void live_through(Endpoint& endpoint, std::int64_t elements, const TrainOptions& options,
                  Recorder& recorder) {
  Replica replica(flat_tensor(elements, endpoint), flat_tensor(elements, endpoint),
                  flat_tensor(0, endpoint), parameter_sizes(elements), UpdateRule(options.update));
  replica.set_learning_rate(0);  // Nothing is learnt.
  StepLoop loop(endpoint, replica, options.strategy,
                {.averaging = whole_messages_if_virtual(
                     {.topology = options.topology, .deadline = options.deadline}, endpoint),
                 .clip_norm = options.clip_norm,
                 .steps = options.steps,
                 .compute = options.compute,
                 .keeps_blocked = options.keeps_blocked});
  recorder.begin(loop);
  while (!loop.is_over()) {
    loop.begin();
    loop.replay_backward();
    loop.end();
    recorder.taken(loop);
  }
  loop.finish();
  recorder.finished(loop);
}

}  // namespace

TrainResult time_strategy(Launcher& launcher, double model_bytes, const TrainOptions& options,
                          const StepObserver& observer) {
  const auto elements = static_cast<std::int64_t>(std::llround(model_bytes / sizeof(float)));
  return run_logged(launcher, options, observer, [&](Endpoint& endpoint, Recorder& recorder) {
    live_through(endpoint, elements, options, recorder);
  });
}

}  // namespace huddle
