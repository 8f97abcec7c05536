// Topics `schedules`, `mixing` and `contraction`: groups of every phase, and what they come to.

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

#include "huddle/base/error.h"
#include "huddle/schedule/contraction.h"
#include "huddle/schedule/mixing.h"
#include "huddle/schedule/schedule.h"
#include "tests/support/dense_mixing.h"
#include "tests/support/exchange_masks.h"
#include "tests/support/group_contraction.h"
#include "tests/vectors.h"

namespace huddle {
namespace {

using nlohmann::json;

GridPattern shuffle_exchange(int radix, int digits) {
  if (digits < 1) throw UsageError("shuffle-exchange needs at least one digit; for example k=2.");
  return exchange_pattern(std::vector<int>(static_cast<std::size_t>(digits), radix));
}

SchedulePattern pattern_of(const json& input) {
  const std::string kind = input.at("kind");
  if (kind == "ds_sync_grid") return grid_pattern(input.at("radices"));
  if (kind == "sesgd")
    return shuffle_exchange(2, static_cast<int>(exchange_masks(input.at("N")).size()));
  if (kind == "shuffle_exchange") return shuffle_exchange(input.at("n"), input.at("k"));
  if (kind == "ds_sync_four") return authors_pattern();
  if (kind == "rotating_representative")
    return rotating_pattern({.racks = input.at("racks"), .per_rack = input.at("per_rack")});
  if (kind == "orthogonal_halves") return halves_pattern(input.at("N"));
  if (kind == "custom") return table_pattern(input.at("phases"));
  throw Error("unknown kind of schedule " + kind);
}

Schedule schedule_of(const json& input) {
  SchedulePattern pattern = pattern_of(input);
  const int workers = std::visit([](const auto& each) { return each.workers(); }, pattern);
  return Schedule(std::move(pattern), Group::everyone(workers));
}

json phases_of(const Schedule& schedule) {
  json phases = json::array();
  for (int phase = 0; phase < schedule.period(); ++phase) {
    json groups = json::array();
    for (const Group& group : schedule.phase(phase)) {
      json members = json::array();
      for (const WorkerId worker : group) members.push_back(worker.value);
      groups.push_back(members);
    }
    phases.push_back(groups);
  }
  return phases;
}

// Whether two values have the same form and numbers that differ by no more than `tolerance`.
bool near(const json& actual, const json& expected, double tolerance) {
  if (actual.is_array() && expected.is_array()) {
    bool same = actual.size() == expected.size();
    for (std::size_t i = 0; same && i < actual.size(); ++i)
      same = near(actual[i], expected[i], tolerance);
    return same;
  }
  if (actual.is_number() && expected.is_number())
    return std::abs(actual.get<double>() - expected.get<double>()) <= tolerance;
  return actual == expected;
}

// The first field of `expect` that `actual` does not have like that.
std::string difference(const json& actual, const json& expect, double tolerance) {
  for (const auto& [name, expected] : expect.items()) {
    if (!actual.contains(name)) return fmt::format("nothing computes {}", name);
    if (!near(actual.at(name), expected, tolerance))
      return fmt::format("{} is {}, expected {}", name, actual.at(name).dump(), expected.dump());
  }
  return "";
}

// Runs `compute` and compares; where the input must be rejected, expects UsageError instead.
Verdict compare(const json& test, double tolerance, const std::function<json()>& compute) {
  const json& expect = test.at("expect");
  const bool must_fail = expect.contains("error");
  try {
    const json actual = compute();
    return must_fail ? "was accepted, but must be refused" : difference(actual, expect, tolerance);
  } catch (const UsageError& error) {
    return must_fail ? "" : error.what();
  }
}

json rows_of(const Matrix& matrix) {
  json rows = json::array();
  for (int row = 0; row < matrix.rows(); ++row)
    rows.push_back(std::vector<double>(matrix.row(row), matrix.row(row) + matrix.columns()));
  return rows;
}

json mixing_of(const Schedule& schedule, double beta) {
  const Mixing mixing = analyse_mixing(schedule, beta);
  const std::int64_t period = schedule.period();
  json norms = json::array();
  for (std::int64_t length = 1; length <= period; ++length) {
    norms.push_back(json::array());
    for (std::int64_t first = 0; first < period; ++first)
      norms.back().push_back(window_norm(schedule, {.first = first, .length = length}));
  }
  const auto field = [&](double DeviationVariance::*value) {
    return mixing.deviation ? json((*mixing.deviation).*value) : json();
  };
  return {{"N", schedule.members().size()},
          {"period", period},
          {"mixing_factor", mixing.mixing_factor},
          {"mixing_factor_by_start", norms.back()},
          {"exact_window", mixing.exact_window ? json(*mixing.exact_window) : json()},
          {"window_norms", norms},
          {"orthogonal", mixing.exact_window.value_or(3) <= 2},
          {"period_product", rows_of(window_product(schedule, {.first = 0, .length = period}))},
          {"deviation_variance", field(&DeviationVariance::plain)},
          {"deviation_variance_momentum_local", field(&DeviationVariance::local_momentum)},
          {"deviation_variance_momentum_averaged", field(&DeviationVariance::averaged_momentum)}};
}

json contraction_of(const json& input) {
  const std::string kind = input.at("kind");
  const int workers = input.at("N");
  if (kind == "random_partition") {
    const RandomPartition partition{.workers = workers, .groups = input.at("groups")};
    return {{"contraction", contraction(partition)},
            {"deviation_variance", deviation_variance(partition)}};
  }
  if (kind == "random_group")
    return {{"rho", contraction(RandomGroup{.workers = workers, .size = input.at("P")})}};
  WeightedGroups weighted{
      .workers = workers, .groups = {}, .probabilities = input.at("probabilities")};
  for (const json& members : input.at("groups")) {
    std::vector<WorkerId> ids;
    for (const json& member : members) ids.push_back(WorkerId{member});
    weighted.groups.emplace_back(ids);
  }
  return {{"rho", contraction(weighted)}};
}

}  // namespace

Verdict run_schedules(const json&, const json& test) {
  const json& input = test.at("input");
  return compare(test, 0, [&] {
    const Schedule schedule = schedule_of(input);
    json actual = {{"N", schedule.members().size()},
                   {"period", schedule.period()},
                   {"phases", phases_of(schedule)}};
    if (input.at("kind") == "sesgd") actual["masks"] = exchange_masks(input.at("N"));
    return actual;
  });
}

Verdict run_mixing(const json&, const json& test) {
  const json& input = test.at("input");
  return compare(test, 1e-9,
                 [&] { return mixing_of(schedule_of(input.at("schedule")), input.at("beta")); });
}

Verdict run_contraction(const json&, const json& test) {
  const json& input = test.at("input");
  const double tolerance = input.at("kind") == "weighted_groups" ? 1e-9 : 1e-12;
  return compare(test, tolerance, [&] { return contraction_of(input); });
}

}  // namespace huddle
