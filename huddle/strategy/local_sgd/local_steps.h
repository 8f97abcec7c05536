// Rounds of local steps: the strategy that every composition (composition.h) runs as.
//
//   local steps; after every tau of them a boundary (boundary.h)
//
// Steps count from the first that is not a warm-up, over the whole run, whatever epochs do. A step
// that is skipped still ends its round: the others meet there. At the end what is in flight is
// completed and everybody keeps their own model, so that the mean of all holds every local step,
// wherever in a round the run ended.

#pragma once

#include <memory>

#include "huddle/strategy/entry.h"
#include "huddle/strategy/local_sgd/composition.h"

namespace huddle {

// Throws UsageError with the reason where the cluster or the optimizer does not have what the parts
// need, or where no recurrence is defined for them.
void check_local_steps(const Composition& parts, const StrategySetting& setting);

// REQUIRES: checked.
std::unique_ptr<Strategy> make_local_steps(const Composition& parts,
                                           const StrategyContext& context);

}  // namespace huddle
