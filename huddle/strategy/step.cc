#include "huddle/strategy/step.h"

#include <ATen/ATen.h>

namespace huddle {

void clip(const at::Tensor& gradients, double clip_norm) {
  if (clip_norm > 0) gradients.mul_((clip_norm / (gradients.norm() + 1e-6)).clamp_max(1.0));
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
