// The named strategies with local steps: each a combination of parts (composition.h) with its
// published settings as defaults.
//
//   local_sgd          every tau steps models become their mean (arXiv 1805.09767)
//   post_local_sgd     synchronous SGD first, then local_sgd (arXiv 1808.07217)
//   slowmo             the mean moves a slow model with momentum (arXiv 1910.00643)
//   diloco             the same with Nesterov's momentum and long rounds (arXiv 2311.08105)
//   easgd              models and an anchor pull one another (arXiv 1412.6651)
//   cocod              the mean arrives a round late, local progress is kept (arXiv 1906.12043)
//   overlap_local_sgd  models are pulled back to an anchor that arrives a round late
//                      (arXiv 2002.09539)
//
// Time per step, with T_c to compute a step and T_x for one average of M bytes: blocking ones
// T_c + T_x / tau, delayed ones max(T_c, T_x / tau).

#pragma once

#include <vector>

#include "huddle/strategy/entry.h"

namespace huddle {

std::vector<StrategyEntry> local_sgd_entries();

}  // namespace huddle
