// Averaging inside scheduled groups: what DS-Sync and SESGD have in common.
//
//   x_i <- x_i - lr * g_i(x_i)                      a local optimizer step, whatever the optimizer
//   x_i <- mean of x_j over the group of i at step t
//
// The groups change every step, so that everybody's update reaches everybody within a period. A
// group average leaves the mean of all models as it was: the mean moves as under synchronous SGD,
// and only the workers' spread around it differs.
//
// Cost per step: one average in a group of n (a pair: M bytes, 1 message in sequence; a ring:
// 2(n-1)/n M, 2(n-1) messages).

#pragma once

#include <memory>
#include <vector>

#include "huddle/schedule/schedule.h"
#include "huddle/strategy/registry.h"

namespace huddle {

// The keys that both strategies take beside those of their schedule: order, slots, warmup, payload,
// overlap, buckets, algorithm.
std::vector<KeyInfo> scheduled_keys();

// Throws UsageError where the options contradict one another or the optimizer.
void check_scheduled(const Schedule& schedule, const Options& options,
                     const StrategySetting& setting);

std::unique_ptr<Strategy> make_scheduled(const Schedule& schedule, const Options& options,
                                         const StrategyContext& context);

}  // namespace huddle
