// Two members exchange everything at once and add.
//
// Steps: 1 message in sequence. Bytes sent per member: M. Time: a + M/b. A ring of two sends as
// much but waits twice.

#pragma once

#include "huddle/collective/plan.h"

namespace huddle {

// Throws UsageError unless there are two members.
Plan pair_plan(int position, int members);

}  // namespace huddle
