#include "huddle/strategy/step.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace huddle {

void clip(const at::Tensor& gradients, double clip_norm) {
  if (clip_norm > 0) gradients.mul_((clip_norm / (gradients.norm() + 1e-6)).clamp_max(1.0));
}

void replay_backward(Endpoint& endpoint, Strategy& strategy, const Replica& replica, Step step,
                     Seconds seconds) {
  const auto elements =
      static_cast<double>(std::max<std::int64_t>(1, replica.parameters().numel()));
  for (const Bucket& bucket : replica.buckets()) {
    endpoint.compute(step, seconds * static_cast<double>(bucket.range.size()) / elements);
    strategy.gradients_ready(step, bucket);
  }
}

Outcome take_step(Strategy& strategy, Replica& replica, Step step, double clip_norm) {
  const Update update = strategy.before_update(step);
  if (update == Update::skip) return strategy.skipped(step);
  if (update == Update::apply) {
    clip(replica.gradients(), clip_norm);
    replica.update(replica.everything());
  }
  replica.end_update();
  return strategy.parameters_updated(step);
}

}  // namespace huddle
