// Recursive halving and doubling: exchange half with the partner at distance p/2, then a quarter at
// p/4, and so on (p is the largest power of two in n); then the same backwards to spread the sums.
//
// Steps: 2 log2(p) messages in sequence. Bytes sent per member: 2(p-1)/p M. Time: 2 log2(p) a +
// 2(p-1)/p M/b. Where n is no power of two, n-p members first hand everything to a neighbour and
// get the result from it: 2 messages of M bytes more on the critical path, and those neighbours
// hear two senders at once, which costs up to two thirds more where bandwidth binds.

#pragma once

#include "huddle/collective/plan.h"

namespace huddle {

Plan halving_doubling_plan(int position, int members);

}  // namespace huddle
