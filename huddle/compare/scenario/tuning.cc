#include "huddle/compare/scenario/tuning.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr double kWorst = -std::numeric_limits<double>::infinity();

// The larger, the better.
std::pair<double, double> merit(const RunOutcome& outcome) {
  if (!outcome.is_complete()) return {kWorst, kWorst};
  const double loss = figure_of(outcome.test_loss, "consensus").value_or(-kWorst);
  return {figure_of(outcome.accuracy, "consensus").value_or(0),
          std::isfinite(loss) ? -loss : kWorst};
}

// Those of one strategy follow one another.
std::size_t end_of_group(const std::vector<TuningRun>& tunings, std::size_t begin) {
  std::size_t end = begin;
  while (end < tunings.size() && tunings[end].serves == tunings[begin].serves) ++end;
  return end;
}

// Beside the one in which it is trained.
int other_cases(const TuningRun& tuning) {
  return static_cast<int>(
      std::count_if(tuning.serves.begin(), tuning.serves.end(), [&](const auto& place) {
        return place.first != tuning.run.case_index && place.second == tuning.run.strategy_index;
      }));
}

// "0.1 in lan and 2 other cases"
std::string where(const Tuning& tuning) {
  return concat(tuning.value, " in ", tuning.case_name,
                tuning.other_cases == 0   ? ""
                : tuning.other_cases == 1 ? " and another case"
                                          : concat(" and ", tuning.other_cases, " other cases"));
}

}  // namespace

std::vector<Tuning> choose_rates(Scenario& scenario, const ComparisonPlan& plan,
                                 std::span<const RunOutcome> outcomes) {
  check(outcomes.size() == plan.tunings.size(), "a tuning without an outcome");
  std::vector<Tuning> tunings;
  for (std::size_t begin = 0; begin < plan.tunings.size();) {
    const std::size_t end = end_of_group(plan.tunings, begin);
    std::size_t best = begin;
    for (std::size_t i = begin; i < end; ++i)
      if (merit(outcomes[i]) > merit(outcomes[best])) best = i;
    for (const auto& [one, strategy] : plan.tunings[begin].serves)
      scenario.strategies[strategy].tuned[scenario.cases[one].name] = plan.tunings[best].rate;
    for (std::size_t i = begin; i < end; ++i) {
      const PlannedRun& run = plan.tunings[i].run;
      tunings.push_back({.id = run.id,
                         .case_name = scenario.cases[run.case_index].name,
                         .other_cases = other_cases(plan.tunings[i]),
                         .label = scenario.strategies[run.strategy_index].label,
                         .value = plan.tunings[i].rate,
                         .status = outcomes[i].status,
                         .accuracy = figure_of(outcomes[i].accuracy, "consensus"),
                         .loss = figure_of(outcomes[i].test_loss, "consensus"),
                         .is_best = i == best,
                         .command = command_text(run)});
    }
    begin = end;
  }
  return tunings;
}

std::string tuning_note(std::span<const Tuning> tunings) {
  if (tunings.empty()) return "";
  using Contestant = std::pair<std::string, std::string>;  // A case and a label.
  std::map<Contestant, std::vector<double>> rates;
  std::set<std::string> cases;
  for (const Tuning& tuning : tunings) cases.insert(tuning.case_name);
  for (const Tuning& tuning : tunings)
    rates[{tuning.case_name, tuning.label}].push_back(std::atof(tuning.value.c_str()));
  std::vector<std::string> at_the_edge;
  for (const Tuning& tuning : tunings) {
    const std::vector<double>& tried = rates[{tuning.case_name, tuning.label}];
    const auto [least, most] = std::minmax_element(tried.begin(), tried.end());
    const double rate = std::atof(tuning.value.c_str());
    if (tuning.is_best && (rate == *least || rate == *most))
      at_the_edge.push_back(
          concat(tuning.label, " (", cases.size() > 1 ? where(tuning) : tuning.value, ")"));
  }
  return concat(
      "Each strategy has the learning rate that was best for it on samples held out of the "
      "training data, with one seed.",
      at_the_edge.empty() ? ""
                          : concat(" The best was the smallest or largest that was tried for ",
                                   joined(at_the_edge), "."));
}

}  // namespace huddle
