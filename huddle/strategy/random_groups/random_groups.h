// Random groups: a local step, then the model's average in a group that is drawn without looking at
// who is ready.
//
//   x_i <- x_i - lr * g_i(x_i);   x_i <- mean of x_j over the group of i at step t
//
// Every step all workers are divided anew, from a seed that all share, into ceil(N / group) groups
// whose sizes differ by at most one, so that none has more than `group` members. A worker waits for
// its own group only, and meets a given straggler with probability about group / N: a random group
// is held up less often than everybody, but P-Reduce's, of those who are ready, never.
//
// After Prague (the name of the idea in the literature): groups drawn at random so that no two that
// overlap block one another. Its abstract gives a group generator and group division against
// conflicts; a partition from a shared seed needs neither, and that draw is our reconstruction. All
// groups of step t are disjoint, so an average never waits for another one of the same step.
//
// Cost per step: one average in a group (scheduled.h). Every worker takes all of its steps; in the
// long run a persistently slow worker sets everybody's pace, because everybody meets it.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

StrategyEntry random_groups_entry();

}  // namespace huddle
