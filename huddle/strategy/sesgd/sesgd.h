// SESGD, shuffle-exchange SGD (arXiv 2007.00433): a local step, then the model's average with one
// partner, another every step.
//
// Partners differ in one bit of their number: worker id exchanges with id XOR mask, masks 1, N/2,
// ..., 2 in turn. After log2(N) steps everybody has everybody's update, at one message and M bytes
// a step. The abstract is published, the rest is our reconstruction; for radix n or other numbers
// of workers see schedule_kinds.h, everything else is in scheduled.h.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

StrategyEntry sesgd_entry();

}  // namespace huddle
