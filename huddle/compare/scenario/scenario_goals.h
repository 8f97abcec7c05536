// What a scenario judges by: its seeds, the section [target], the learning rates of [tune], and the
// figure of an [[expect]].

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "huddle/compare/scenario/scenario_file.h"
#include "huddle/config/config_file.h"

namespace huddle {

// Nothing where the file has none, or a wrong one, which is reported.
std::optional<Target> read_target(ConfigSection& section);

// Reports what a strategy's own workload may not change where there is a target: the way to it ends
// with one average of everybody's models, which is worked out once for a case.
void refuse_own_model(ConfigSection& strategy, const WorkloadOptions& own);

// The learning rates `lr` of a section as typed, all of which must do for training: `mistake_in`
// tells what is wrong with options.
std::vector<std::string> read_rates(
    ConfigSection& section,
    const std::function<std::optional<std::string>(const WorkloadOptions&)>& mistake_in);

// Nothing where the section has none.
std::optional<std::vector<int>> read_seeds(ConfigSection& section);

// Which figure of an [[expect]] must be how large, and in how many of its cases, into `one`.
// Reports any other number of figures than one, and more cases than there are. REQUIRES: its cases.
void read_figure(ConfigSection& section, Expectation& one);

}  // namespace huddle
