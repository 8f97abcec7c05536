// What a checkpoint keeps of the options, and how a resumed run takes it over.

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <set>
#include <sstream>
#include <type_traits>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/cli/train/train_options.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/checkpoint/checkpoint.h"

namespace huddle {
namespace {

std::string text_of(const TrainOption& option, const TrainConfig& config) {
  return std::visit(
      [&](auto member) {
        if constexpr (std::is_same_v<decltype(member), std::vector<std::string> TrainConfig::*>)
          return joined(config.*member);
        else
          return fmt::format("{}", config.*member);
      },
      option.value);
}

// What a text is not, where it cannot be the option's value; empty where it is.
std::string set(const TrainOption& option, TrainConfig& config, const std::string& text) {
  if (const auto* member = std::get_if<std::string TrainConfig::*>(&option.value)) {
    config.** member = text;
    return "";
  }
  return std::visit(
      [&]<typename Field>(Field TrainConfig::*member) -> std::string {
        if constexpr (std::is_arithmetic_v<Field>) {
          std::istringstream in(text);
          if ((in >> std::noskipws >> std::boolalpha >> config.*member) && in.peek() == EOF)
            return "";
          return std::is_same_v<Field, bool> ? "true or false"
                 : std::is_integral_v<Field>
                     ? fmt::format("a whole number up to {}, as {}",
                                   std::numeric_limits<Field>::max(), TrainConfig().*member)
                     : fmt::format("a number, as {}", TrainConfig().*member);
        }
        check(false, "checkpoints keep no lists");
        return "";
      },
      option.value);
}

// Whether a strategy is that of the checkpoint, only said more fully: as what it came to, or, where
// that is not known, with its form.
bool spells_out(const std::string& strategy, const std::string& saved, const CheckpointInfo& info) {
  if (!info.settled.empty()) return strategy == info.settled;
  Spec spec = parse_spec(strategy);
  return spec.values.erase("form") > 0 && to_string(spec) == to_string(parse_spec(saved));
}

std::string with_form(const std::string& strategy, const char* form) {
  Spec spec = parse_spec(strategy);
  spec.values["form"] = form;
  return to_string(spec);
}

}  // namespace

std::map<std::string, std::string> settings_of(const TrainConfig& config) {
  std::map<std::string, std::string> values;
  for (const TrainOption& each : all_train_options())
    if (each.is(TrainOption::Mark::saved)) values[each.name] = text_of(each, config);
  return values;
}

std::map<std::string, std::string> common_settings_of(const TrainConfig& config) {
  const std::set<std::string> own = {"--workers",    "--rank",     "--store",
                                     "--rendezvous", "--data-dir", "--out",
                                     "--replace",    "--quiet",    "--json"};
  std::map<std::string, std::string> values;
  for (const TrainOption& each : all_train_options())
    if (!own.contains(each.name)) values[each.name] = text_of(each, config);
  return values;
}

std::vector<std::string> not_in_checkpoint(const CLI::App& command) {
  const std::set<std::string> not_again = {"--save",     "--resume", "--replace",
                                           "--timeline", "--out",    "--epochs"};
  std::vector<std::string> words;
  for (const TrainOption& each : all_train_options()) {
    if (each.is(TrainOption::Mark::saved) || not_again.contains(each.name)) continue;
    for (const std::string& value : command[each.name]->results()) {
      words.push_back(each.name);
      if (!std::holds_alternative<bool TrainConfig::*>(each.value)) words.push_back(value);
    }
  }
  return words;
}

CheckpointInfo adopt_checkpoint(const CLI::App& command, TrainConfig& config) {
  const CheckpointInfo info = CheckpointFolder(config.resume).load_info();
  for (const TrainOption& each : all_train_options()) {
    if (!each.is(TrainOption::Mark::saved)) continue;
    const auto saved = info.settings.find(each.name);
    if (saved == info.settings.end())
      throw UsageError(concat(config.resume, "/checkpoint.json does not say ", each.name, "."));
    const bool typed = command.count(each.name) > 0;
    if (each.name == "--steps" && (typed || command.count("--epochs") > 0))
      continue;  // A run may be extended.
    const std::string own = text_of(each, config);
    if (typed && each.name == "--strategy" && spells_out(own, saved->second, info)) continue;
    if (typed && own != saved->second)
      throw UsageError(concat(each.name, " ", own, " disagrees with the checkpoint in ",
                              config.resume, ", which was made with ", saved->second,
                              "; leave the option out, or start a new run without --resume."));
    if (const std::string wanted = set(each, config, saved->second); !wanted.empty())
      throw UsageError(concat(config.resume, "/", kCheckpointIndex, " has ", each.name, " = '",
                              saved->second, "', which is not ", wanted,
                              ". Resume from a copy of the checkpoint, or begin anew without "
                              "--resume."));
  }
  if (config.workers != std::ssize(info.workers))
    throw UsageError(concat(config.resume, "/", kCheckpointIndex, " has --workers ", config.workers,
                            " and the files of ", info.workers.size(), "."));
  return info;
}

void check_settled(const TrainConfig& config, const CheckpointInfo& resumed,
                   const StrategySetting& setting) {
  const std::string& strategy = config.strategy;
  const std::string place = concat(config.resume, "/", kCheckpointIndex);
  if (resumed.settled.empty() && depends_on_form(strategy, setting))
    throw UsageError(concat(place, " does not say what --strategy ", strategy,
                            " came to, and defaults have changed: give --strategy ",
                            with_form(strategy, "paper"), " if the run began as published, or ",
                            with_form(strategy, "ours"), " if by the defaults of now."));
  const std::string now = settled(strategy, setting);
  if (!resumed.settled.empty() && now != resumed.settled)
    throw UsageError(concat("--strategy ", strategy, " comes to ", now, ", but in ", place, " to ",
                            resumed.settled, ": give --strategy ", resumed.settled,
                            ", or begin anew without --resume."));
}

}  // namespace huddle
