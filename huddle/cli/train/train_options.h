// The options of `huddle train`: one table of all that there is to know about each, from which come
// the command line and its help, ranges, what a checkpoint keeps, what a scenario may say, and what
// means nothing where nothing is trained.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "huddle/cli/number_option.h"
#include "huddle/cli/train/train_config.h"

namespace huddle {

struct TrainOption {
  enum class Mark {
    saved,         // It shapes the bits of a run: checkpoints keep it.
    not_compared,  // A comparison sets it itself, or its cluster does: no scenario may.
    of_values,     // It means nothing with --timing-only.
    of_length,     // Likewise, yet it decides how long a training takes.
    folder,        // A path, not to be empty.
    file,          // Likewise.
    not_with_steps,
    not_with_cluster,
  };

  using Value = std::variant<std::string TrainConfig::*, std::vector<std::string> TrainConfig::*,
                             bool TrainConfig::*, int TrainConfig::*, std::int64_t TrainConfig::*,
                             double TrainConfig::*>;

  std::string name;  // "--workers".
  Value value;
  std::string group;  // The heading in the help.
  std::string help;
  std::vector<Mark> marks = {};
  NumberOption range = {};  // Of a number.

  bool is(Mark mark) const;
  bool is_number() const;

  // As a scenario spells it: weight_decay.
  std::string key() const;
};

// In the order of the help.
const std::vector<TrainOption>& all_train_options();

// Adds all options to `command`, with their help; parsing fills `config`, which must outlive the
// command.
void declare_options(CLI::App& command, TrainConfig& config);

}  // namespace huddle
