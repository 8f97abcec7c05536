// `huddle list`: what can be chosen by name, each with one line and its keys.

#include <fmt/format.h>

#include <memory>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/base/text.h"
#include "huddle/cli/commands.h"
#include "huddle/compare/scenario/scenario_folder.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/data/dataset.h"
#include "huddle/train/learning_rate.h"
#include "huddle/train/models/models.h"

namespace huddle {
namespace {

void print(const std::vector<SpecInfo>& known) {
  for (const SpecInfo& info : known) {
    fmt::print("{}\n    {}\n", info.name, info.summary);
    for (const KeyInfo& key : info.keys) {
      fmt::print("    {}={}  {}", key.name, key.fallback, key.help);
      if (key.type == KeyInfo::Type::choice) fmt::print(" ({})", joined(key.choices));
      if (!key.published.empty()) fmt::print("; form=paper: {}", key.published);
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

struct Kind {
  std::string word;
  std::vector<SpecInfo> (*known)();
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{{"strategies", known_strategies},
                                     {"models", known_models},
                                     {"data", known_data},
                                     {"engines", known_engines},
                                     {"schedules", known_learning_rates},
                                     {"scenarios", scenarios}};
  return all;
}

// The names alone, of everything.
void print_all() {
  for (const Kind& kind : kinds()) {
    fmt::print("{}\n", kind.word);
    for (const SpecInfo& info : kind.known())
      fmt::print("    {:<18}  {}\n", info.name, info.summary);
  }
  fmt::print("Keys and defaults of each: huddle list strategies, and so on.\n");
}

void print(const std::string& what) {
  std::vector<std::string> words;
  for (const Kind& kind : kinds()) {
    if (kind.word == what) return print(kind.known());
    words.push_back(kind.word);
  }
  throw UsageError(unknown_value("word to list", what, words));
}

}  // namespace

void add_list_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand("list", "Prints what can be chosen, with its keys");
  command->footer(
      "A choice is written name:key=value,key=value, for example "
      "bsp:algorithm=ring,buckets=4.\nValues shown are the defaults.");
  const auto what = std::make_shared<std::string>();
  CLI::Option* const word = command->add_option(
      "what", *what,
      "strategies, models, data, engines, schedules or scenarios; without it: the names of all");
  command->callback([what, word, &status] {
    word->count() > 0 ? print(*what) : print_all();
    status = 0;
  });
}

}  // namespace huddle
