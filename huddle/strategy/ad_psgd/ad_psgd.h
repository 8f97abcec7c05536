// AD-PSGD (asynchronous decentralised parallel SGD): a worker computes on its own model while that
// is averaged with one random peer's.
//
//   g <- gradient at x_i          at the same time: (x_i, x_j) <- the mean of x_i and x_j, for both
//   x_i <- x_i - lr * g           on what the averages have made of x_i meanwhile
//
// One exchange per step with a peer drawn at random, 0.5 / 0.5, in the background of the gradient's
// computation; a gradient may therefore be applied to another model than it was computed on. Half
// of the workers only ask (those of even number), the others only answer, at any time, whatever
// they compute. The learning rate is one worker's, not scaled by N. What of this is published, what
// reconstructed: docs/strategies/ad_psgd.md.
//
// Averages go into a communication copy of the model, under Endpoint::exclusive, and the
// module sees them at its next update, so that parameters never change under a running forward
// pass. Both sides apply half of the difference of the two copies that travelled, so an exchange
// leaves the mean of all models as it was, whatever updates happen while it is on the way; if one
// side dies in the middle, the other may have moved alone. A passive worker talks to one peer at a
// time. A run ends by a count of everybody's steps (step_budget.h).
//
// With `balance=on` lr is scaled by a factor that comes with that count (shares.h), so that those
// who take fewer steps are heard alike. Ours.
//
// Cost per step of an active worker: M bytes each way at the same time, and one control message; a
// passive one answers as often as it is asked, about once per step of an active one. Optimizer
// state and BatchNorm statistics stay local. A lost worker is asked no more; losing the one
// beside whom steps are counted ends a run that counts them.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

StrategyEntry ad_psgd_entry();

}  // namespace huddle
