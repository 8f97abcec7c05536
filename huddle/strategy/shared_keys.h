// Keys that several strategies take, so that each is declared, read and refused in one way.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/spec.h"
#include "huddle/collective/plan.h"
#include "huddle/strategy/entry.h"

namespace huddle {

KeyInfo choice_key(const char* name, const char* fallback, const char* help,
                   std::vector<std::string> choices);

// Throws UsageError if `key` was given, where another choice leaves it nothing to do. `reason` says
// why and how it would have something to do.
void refuse_idle(const Options& options, const char* key, const std::string& reason);

// The key `form`: whether keys that are not given are as measured best, or as published.
KeyInfo form_key();

// `key` with another value to begin with, or one that is left open, beside the published one.
KeyInfo in_two_forms(KeyInfo key, std::string_view ours, const char* help);

// How groups average, with the fallback `default`; and a seed.
KeyInfo algorithm_key();
KeyInfo seed_key(const char* help = "of the draw");

// Of strategies with a schedule.
KeyInfo global_every_key();

// The key `slots`, its value, and UsageError where the optimizer has no state to treat, or none
// that could travel in the format asked for.
KeyInfo slots_key();
SlotPolicy slot_policy(const Options& options);
void check_slots(const Options& options, const StrategySetting& setting);

// The key `wire`, in which format models or gradients travel, and its value; `slots_wire` is that
// of averaged slots (nothing: the same).
KeyInfo wire_key(const char* help, std::vector<std::string> formats = {"float", "bf16"});
WireFormat wire_of(const Options& options);
KeyInfo slots_wire_key();
std::optional<WireFormat> slots_wire_of(const Options& options);

// Throw UsageError where models of this type travel in the format anyway, and where models travel
// in the format of pairs and larger groups meet.
void check_type(const Options& options, at::ScalarType type);
void check_pairs(const Options& options, int largest_group);

// The key `balance`, and whether it is on: those who take fewer steps learn at a higher rate
// (shares.h). UsageError where nobody but the user could scale a rate.
KeyInfo balance_key();
bool balances(const Options& options, const StrategySetting& setting);

// Throws UsageError where only the user's own optimizer can update parameters, and `what` ("asp
// applies gradients on servers") needs a rule.
void require_rule(const StrategySetting& setting, const std::string& what);

// Whether groups of any shape can average by this algorithm.
bool fits_every_group(Algorithm algorithm);

// Throws UsageError unless a group of this shape can average by this algorithm.
void check_algorithm(Algorithm algorithm, const Group& group, const Cluster& cluster);

}  // namespace huddle
