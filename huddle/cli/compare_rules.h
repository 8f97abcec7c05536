// What a scenario may say about training, taken from the options of `huddle train` themselves, so
// that whatever is added there can be compared at once.

#pragma once

#include <string>

#include "huddle/compare/scenario/comparison_plan.h"
#include "huddle/compare/scenario/scenario_file.h"

namespace huddle {

ScenarioRules scenario_rules();

// `engine`: of all runs; empty: sim where this build has it, else threads.
PlanRules plan_rules(const std::string& engine);

}  // namespace huddle
