#include "huddle/compare/scenario/scenario_goals.h"

#include <set>

#include "huddle/base/text.h"

namespace huddle {

std::optional<Target> read_target(ConfigSection& section) {
  const std::optional<double> accuracy = section.number("accuracy");
  const std::optional<double> loss = section.number("loss");
  const std::optional<std::string> baseline = section.text("baseline");
  const std::optional<double> below = section.number("points_below");
  if (section.line() == 0) return {};
  const int figures = int{accuracy.has_value()} + int{loss.has_value()} + int{baseline.has_value()};
  if (figures != 1)
    section.refuse(
        "must name one figure: accuracy = 0.95, loss = 0.3, or baseline = \"bsp\" with "
        "points_below = 0.3.");
  else if (below && !baseline)
    section.refuse_key("points_below", "needs a baseline: baseline = \"bsp\".");
  else if (accuracy && *accuracy > 1)
    section.refuse_key("accuracy", "is a share of all samples, between 0 and 1: 0.95.");
  else if (baseline)
    return Target{.baseline = *baseline, .below = below.value_or(0) / 100};
  else if (accuracy)
    return Target{.of = Target::Of::accuracy, .value = *accuracy};
  else
    return Target{.of = Target::Of::loss, .value = *loss};
  return {};
}

void refuse_own_model(ConfigSection& strategy, const WorkloadOptions& own) {
  for (const char* key : {"data", "model", "wire"})
    if (own.contains(key))
      strategy.refuse(concat("changes '", key, "', but with a [target] all strategies of a case ",
                             "train the same; give it a [[case]] of its own."));
}

std::vector<std::string> read_rates(
    ConfigSection& section,
    const std::function<std::optional<std::string>(const WorkloadOptions&)>& mistake_in) {
  const std::vector<std::string> rates = section.words("lr").value_or(std::vector<std::string>{});
  const std::set<std::string> different(rates.begin(), rates.end());
  if (section.has("lr") && (rates.size() < 2 || different.size() != rates.size()))
    section.refuse_key("lr", "must name at least two rates, none twice: [0.05, 0.1, 0.2].");
  for (const std::string& rate : rates)
    if (const auto mistake = mistake_in({{"lr", rate}}))
      section.refuse_key("lr", "is wrong: " + *mistake);
  return rates;
}

std::optional<std::vector<int>> read_seeds(ConfigSection& section) {
  const auto seeds = section.counts("seeds");
  if (!seeds) return {};
  const std::set<int> different(seeds->begin(), seeds->end());
  if (seeds->empty() || different.size() != seeds->size())
    section.refuse_key("seeds", "must name at least one, and none twice: [1, 2, 3].");
  return seeds;
}

void read_figure(ConfigSection& section, Expectation& one) {
  int figures = 0;
  const auto read = [&](const char* key, Expectation::Of of, double sign) {
    const std::optional<double> value = section.number(key);
    if (!value) return;
    ++figures;
    one.of = of;
    one.at_least = sign * *value;
  };
  read("speedup", Expectation::Of::speedup, 1);
  read("speedup_to_target", Expectation::Of::speedup_to_target, 1);
  read("accuracy_loss", Expectation::Of::accuracy_points, -1);
  if (figures != 1)
    section.refuse(
        "must name one figure: speedup = 1.5, speedup_to_target = 1.5, or accuracy_loss = 0.5 in "
        "points.");
  one.in = section.count("in").value_or(0);
  if (section.has("in") && (one.in < 1 || one.in > std::ssize(one.cases)))
    section.refuse_key("in", concat("is not from 1 to ", one.cases.size(),
                                    ", as many cases as there are to judge."));
}

}  // namespace huddle
