// What can be said against the options of `huddle train` before anything else is known: for the
// command line, and for scenarios, which are made of the same options.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "huddle/cli/train/train_config.h"

namespace huddle {

// Throws UsageError with `message` unless the condition holds.
void require(bool condition, const std::string& message);

// Does `check`, and puts the option as typed before whatever it finds wrong.
void check_named(const std::string& option, const std::string& value,
                 const std::function<void()>& check);

// Throws UsageError for a number that no run could be made with, and for an option that would do
// nothing beside the others. `command` knows which options were given.
void check_options(const CLI::App& command, const TrainConfig& config);

// The same for an option that has no meaning where nothing is trained (--timing-only). A comparison
// leaves them out by itself.
void check_timing_options(const CLI::App& command);

// The same for what depends on how many steps there are.
void check_length(const TrainConfig& config);

}  // namespace huddle
