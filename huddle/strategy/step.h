// The second half of a step, the same for every trainer: from complete gradients to exchanged
// parameters.

#pragma once

#include "huddle/strategy/replica.h"
#include "huddle/strategy/strategy.h"

namespace huddle {

// Gradients are scaled down to the norm `clip_norm` before the update (0: never), as torch's
// clip_grad_norm_ does. REQUIRES: the strategy has seen before_forward and gradients_ready for
// every bucket of this step.
Outcome take_step(Strategy& strategy, Replica& replica, Step step, double clip_norm = 0);

}  // namespace huddle
