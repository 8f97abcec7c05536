// The second half of a step, the same for every trainer: from complete gradients to exchanged
// parameters.

#pragma once

#include "huddle/replica/replica.h"
#include "huddle/strategy/strategy.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Spends `seconds` of this worker's time as a backward pass does, telling the strategy of each
// bucket at its moment: for gradients that are there already, or need not be.
void replay_backward(Endpoint& endpoint, Strategy& strategy, const Replica& replica, Step step,
                     Seconds seconds);

// Scales gradients down to the norm `clip_norm` (0: never), as torch's clip_grad_norm_ does.
void clip(const at::Tensor& gradients, double clip_norm);

// Gradients are clipped before the update that the caller applies. REQUIRES: the strategy has seen
// before_forward and gradients_ready for every bucket of this step.
Outcome take_step(Strategy& strategy, Replica& replica, Step step, double clip_norm = 0);

}  // namespace huddle
