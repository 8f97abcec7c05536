// Everybody sends everybody's segment straight to its owner, who adds them up and sends the sum
// back to everybody.
//
// Steps: 2 messages in sequence, 2(n-1) sent. Bytes sent per member: 2(n-1)/n M. Time: 2 a +
// 2(n-1)/n M/b where no link or receiver is overrun by n-1 senders at once. Best in shared memory
// and for small groups behind a good switch.

#pragma once

#include "huddle/collective/plan.h"

namespace huddle {

Plan direct_plan(int position, int members);

}  // namespace huddle
