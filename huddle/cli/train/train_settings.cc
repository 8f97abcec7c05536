// What a checkpoint keeps of the options, and how a resumed run takes it over.

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <limits>
#include <sstream>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/cli/train/train_config.h"
#include "huddle/train/checkpoint/checkpoint.h"

namespace huddle {
namespace {

// One option that a checkpoint keeps: how to write it down and how to read it back.
struct Setting {
  std::string option;
  std::function<std::string(const TrainConfig&)> get;
  std::function<bool(TrainConfig&, const std::string&)> set;  // False: it is not `wanted`.
  std::string wanted;
};

template <typename Field>
Setting setting(const char* option, Field TrainConfig::*field) {
  const auto get = [field](const TrainConfig& config) { return fmt::format("{}", config.*field); };
  if constexpr (std::is_same_v<Field, std::string>) {
    const auto set = [field](TrainConfig& config, const std::string& text) {
      config.*field = text;
      return true;
    };
    return {option, get, set, "a text"};
  } else {
    const auto set = [field](TrainConfig& config, const std::string& text) {
      std::istringstream in(text);
      return (in >> std::noskipws >> std::boolalpha >> config.*field) && in.peek() == EOF;
    };
    return {option, get, set,
            std::is_same_v<Field, bool> ? "true or false"
            : std::is_integral_v<Field>
                ? fmt::format("a whole number up to {}, as {}", std::numeric_limits<Field>::max(),
                              TrainConfig().*field)
                : fmt::format("a number, as {}", TrainConfig().*field)};
  }
}

std::vector<Setting> settings() {
  return {setting("--strategy", &TrainConfig::strategy),
          setting("--workers", &TrainConfig::workers),
          setting("--model", &TrainConfig::model),
          setting("--data", &TrainConfig::data),
          setting("--split", &TrainConfig::split),
          setting("--holdout", &TrainConfig::holdout),
          setting("--batch", &TrainConfig::batch),
          setting("--accumulate", &TrainConfig::accumulate),
          setting("--optimizer", &TrainConfig::optimizer),
          setting("--lr", &TrainConfig::learning_rate),
          setting("--momentum", &TrainConfig::momentum),
          setting("--nesterov", &TrainConfig::nesterov),
          setting("--weight-decay", &TrainConfig::weight_decay),
          setting("--clip", &TrainConfig::clip_norm),
          setting("--schedule", &TrainConfig::schedule),
          setting("--swa-start", &TrainConfig::swa_start),
          setting("--swa-every", &TrainConfig::swa_every),
          setting("--seed", &TrainConfig::seed),
          setting("--racks", &TrainConfig::racks),
          setting("--steps", &TrainConfig::steps)};
}

}  // namespace

std::map<std::string, std::string> settings_of(const TrainConfig& config) {
  std::map<std::string, std::string> values;
  for (const Setting& each : settings()) values[each.option] = each.get(config);
  return values;
}

CheckpointInfo adopt_checkpoint(const CLI::App& command, TrainConfig& config) {
  const CheckpointInfo info = CheckpointFolder(config.resume).load_info();
  for (const Setting& each : settings()) {
    const auto saved = info.settings.find(each.option);
    if (saved == info.settings.end())
      throw UsageError(concat(config.resume, "/checkpoint.json does not say ", each.option, "."));
    const bool typed = command.count(each.option) > 0;
    if (each.option == "--steps" && (typed || command.count("--epochs") > 0))
      continue;  // A run may be extended.
    const std::string own = each.get(config);
    if (typed && own != saved->second)
      throw UsageError(concat(each.option, " ", own, " disagrees with the checkpoint in ",
                              config.resume, ", which was made with ", saved->second,
                              "; leave the option out, or start a new run without --resume."));
    if (!each.set(config, saved->second))
      throw UsageError(concat(config.resume, "/", kCheckpointIndex, " has ", each.option, " = '",
                              saved->second, "', which is not ", each.wanted,
                              ". Resume from a copy of the checkpoint, or begin anew without "
                              "--resume."));
  }
  if (config.workers != std::ssize(info.workers))
    throw UsageError(concat(config.resume, "/", kCheckpointIndex, " has --workers ", config.workers,
                            " and the files of ", info.workers.size(), "."));
  return info;
}

}  // namespace huddle
