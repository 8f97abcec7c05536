// Options of the command line that are numbers: what each may be, in one table per command, so that
// every one of them is refused in the same words, with its range and a value that works.

#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace huddle {

// Counts of steps and the like. No run is longer.
inline constexpr double kMostSteps = 1e9;

struct NumberOption {
  enum class Kind { whole, real };
  enum class Ends { included, least_excluded, most_excluded };

  std::string name;  // "--workers".
  Kind kind = Kind::whole;
  double least = 0;  // Whole, as is `most`.
  double most = kMostSteps;
  std::string example;  // A value that works.
  Ends ends = Ends::included;
};

// What is wrong with `text` as a value of the option; empty: nothing. Continues after the option's
// name: "'many' is not a whole number from 1 to 8; for example --workers 4".
std::string mistake_in(const NumberOption& option, const std::string& text);

// From now on the command refuses what is no such number when it is parsed, and a value for what is
// a flag. All options must have been added to it.
void add_ranges(CLI::App& command, std::span<const NumberOption> options);

}  // namespace huddle
