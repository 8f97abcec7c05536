// Chooses a learning rate for each strategy, so that none is compared at the best rate of another.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "huddle/compare/comparison_files.h"
#include "huddle/compare/scenario/comparison_plan.h"
#include "huddle/compare/scenario/scenario_file.h"

namespace huddle {

// Gives every strategy of the scenario the best of its rates: the most accurate consensus on the
// held-out samples and, of several, the one with the smallest loss. Where no rate ends well, the
// first is taken, and its runs will tell. `outcomes`: of plan.tunings. Returns them for the record.
std::vector<Tuning> choose_rates(Scenario& scenario, const ComparisonPlan& plan,
                                 std::span<const RunOutcome> outcomes);

// What readers must know about it; empty where nothing was tuned. Names the strategies whose best
// rate is the smallest or largest that was tried, and might be beyond.
std::string tuning_note(std::span<const Tuning> tunings);

}  // namespace huddle
