// Synchronous SGD (bulk synchronous parallel): every step, everybody's gradients are averaged
// before anybody goes on.
//
//   g_i = gradient of worker i;   gbar = mean of all g_i;   every worker takes the step with gbar
//
// The baseline of everything, so in its best form: gradients travel in fused buckets, last layers
// first, and a bucket's average starts while backward still computes the layers below. Buckets
// follow one another in one lane (`lanes` for more). Cost per step with n workers: what `algorithm`
// costs for M bytes, once per bucket.
//
// BatchNorm statistics stay local: training never reads them, and averaging is linear, so the
// consensus model's mean of the running statistics is what averaging them at every step would give.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

StrategyEntry bsp_entry();

}  // namespace huddle
