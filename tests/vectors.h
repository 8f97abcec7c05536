// The vector runner's topics: numbers that every implementation must reproduce.

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "tests/vectors_engines.h"

namespace huddle {

// What one case came to: empty when it passed, else what differs; nothing when this build does not
// know such a case yet.
using Verdict = std::optional<std::string>;

// On each of these engines.
Verdict run_trajectory(const nlohmann::json& file, const nlohmann::json& test,
                       std::span<const VectorEngine> engines);

// Each gets the whole file and one of its cases.
Verdict run_costs(const nlohmann::json& file, const nlohmann::json& test);
Verdict run_schedules(const nlohmann::json& file, const nlohmann::json& test);
Verdict run_mixing(const nlohmann::json& file, const nlohmann::json& test);
Verdict run_contraction(const nlohmann::json& file, const nlohmann::json& test);
Verdict run_group_former(const nlohmann::json& file, const nlohmann::json& test);
Verdict run_staleness(const nlohmann::json& file, const nlohmann::json& test);

}  // namespace huddle
