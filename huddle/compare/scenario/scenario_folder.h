// The scenarios that come with Huddle, and those beside the current folder, by name.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace huddle {

struct KnownScenario {
  std::string name;
  std::string title;
  std::filesystem::path file;
};

// From scenarios/ in the current folder, beside the program's folder, and where it was installed,
// sorted by name; the first place that has a name counts.
std::vector<KnownScenario> known_scenarios();

// The file that `text` means: a path where it has a slash or ends in .toml, otherwise a name.
// Throws UsageError with the names that exist.
std::filesystem::path find_scenario(const std::string& text);

}  // namespace huddle
