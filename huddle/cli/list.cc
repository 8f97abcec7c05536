// `huddle list`: what can be chosen by name, each with one line and its keys.

#include <fmt/format.h>

#include <memory>

#include "huddle/cli/commands.h"
#include "huddle/cli/engines.h"
#include "huddle/cli/scenario_folder.h"
#include "huddle/core/spec.h"
#include "huddle/core/text.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/dataset.h"
#include "huddle/train/learning_rate.h"
#include "huddle/train/models.h"

namespace huddle {
namespace {

void print(const std::vector<SpecInfo>& known) {
  for (const SpecInfo& info : known) {
    fmt::print("{}\n    {}\n", info.name, info.summary);
    for (const KeyInfo& key : info.keys) {
      fmt::print("    {}={}  {}", key.name, key.fallback, key.help);
      if (key.type == KeyInfo::Type::choice) fmt::print(" ({})", joined(key.choices));
      fmt::print("\n");
    }
  }
}

std::vector<SpecInfo> scenarios() {
  std::vector<SpecInfo> known;
  for (const KnownScenario& scenario : known_scenarios())
    known.push_back({.name = scenario.name, .summary = scenario.title});
  return known;
}

std::vector<SpecInfo> known(const std::string& what) {
  if (what == "strategies") return known_strategies();
  if (what == "models") return known_models();
  if (what == "data") return known_data();
  if (what == "schedules") return known_learning_rates();
  if (what == "scenarios") return scenarios();
  return known_engines();
}

}  // namespace

void add_list_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand("list", "Prints what can be chosen, with its keys");
  command->footer(
      "A choice is written name:key=value,key=value, for example "
      "bsp:algorithm=ring,buckets=4.\nValues shown are the defaults.");
  const auto what = std::make_shared<std::string>();
  command->add_option("what", *what, "strategies, models, data, engines, schedules or scenarios")
      ->required()
      ->check(CLI::IsMember({"strategies", "models", "data", "engines", "schedules", "scenarios"}));
  command->callback([what, &status] {
    print(known(*what));
    status = 0;
  });
}

}  // namespace huddle
