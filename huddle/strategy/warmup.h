// A warm-up: the first steps of any strategy run as synchronous SGD, and the strategy begins with
// what they came to, one model on all workers.
//
// Its averages are among all workers: while it lasts, a lost worker ends the run under any
// strategy. Where the run is over before it is, the strategy never begins. Published for local SGD
// (post-local SGD, arXiv 1808.07217); any other strategy can have it too.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

KeyInfo warmup_key(const char* fallback = "0");

// Prepares a strategy with the warm-up that the options ask for, if they do. Throws UsageError like
// StrategyEntry::prepare, also where `algorithm` does not fit all workers.
MakeStrategy prepare_with_warmup(const StrategyEntry& entry, const Options& options,
                                 const StrategySetting& setting);

}  // namespace huddle
