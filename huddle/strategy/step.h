// The second half of a step, the same for every trainer: from complete gradients to exchanged
// parameters.

#pragma once

#include "huddle/strategy/replica.h"
#include "huddle/strategy/strategy.h"

namespace huddle {

// Scales the gradients so that their norm is at most `clip_norm` (0: leaves them), as torch's
// clip_grad_norm_ does.
void clip_gradients(Replica& replica, double clip_norm);

// REQUIRES: the strategy has seen before_forward and gradients_ready for every bucket of this step.
inline Outcome take_step(Strategy& strategy, Replica& replica, Step step, double clip_norm = 0) {
  const Update update = strategy.before_update(step);
  if (update == Update::skip) return strategy.skipped(step);
  if (update == Update::apply) {
    clip_gradients(replica, clip_norm);
    replica.update(replica.everything());
  }
  replica.end_update();
  return strategy.parameters_updated(step);
}

}  // namespace huddle
