// Keys that several strategies take, so that each is declared, read and refused in one way.

#pragma once

#include <string>
#include <vector>

#include "huddle/base/spec.h"
#include "huddle/collective/plan.h"
#include "huddle/strategy/registry.h"

namespace huddle {

KeyInfo choice_key(const char* name, const char* fallback, const char* help,
                   std::vector<std::string> choices);

// Throws UsageError if `key` was given, where another choice leaves it nothing to do. `reason` says
// why and how it would have something to do.
void refuse_idle(const Options& options, const char* key, const std::string& reason);

// What becomes of optimizer state where models are averaged.
enum class SlotPolicy { keep, average, reset };

// The key `slots`, its value, and UsageError where the optimizer has no state to treat.
KeyInfo slots_key();
SlotPolicy slot_policy(const Options& options);
void check_slots(const Options& options, const StrategySetting& setting);

// Whether groups of any shape can average by this algorithm.
bool fits_every_group(Algorithm algorithm);

// Throws UsageError unless a group of this shape can average by this algorithm.
void check_algorithm(Algorithm algorithm, const Group& group, const Cluster& cluster);

}  // namespace huddle
