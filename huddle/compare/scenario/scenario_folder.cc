#include "huddle/compare/scenario/scenario_folder.h"

#include <map>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"
#include "huddle/config/config_table.h"

namespace huddle {
namespace {

std::vector<std::filesystem::path> folders() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path around = program.parent_path().parent_path();
  return {"scenarios", around / "scenarios", around / "share/huddle/scenarios"};
}

// Nothing where the file has none, or is none.
std::string title_of(const std::filesystem::path& file) {
  try {
    const ConfigTable table = parse_toml(read_file(file, kMostTextBytes), file.string());
    const ConfigEntry* title = find_entry(table, "title");
    return title ? as_word(title->value).value_or("") : "";
  } catch (const UsageError&) {
    return "";
  }
}

}  // namespace

std::vector<KnownScenario> known_scenarios() {
  std::map<std::string, KnownScenario> known;
  for (const std::filesystem::path& folder : folders()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() != ".toml") continue;
      const std::string name = entry.path().stem().string();
      if (!known.contains(name)) known[name] = {name, title_of(entry.path()), entry.path()};
    }
  }
  std::vector<KnownScenario> sorted;
  for (auto& [name, scenario] : known) sorted.push_back(std::move(scenario));
  return sorted;
}

std::filesystem::path find_scenario(const std::string& text) {
  if (text.find('/') != std::string::npos || text.ends_with(".toml")) return text;
  std::vector<std::string> names;
  for (const KnownScenario& scenario : known_scenarios()) {
    if (scenario.name == text) return scenario.file;
    names.push_back(scenario.name);
  }
  throw UsageError(names.empty()
                       ? concat("there is no scenario '", text,
                                "': no folder scenarios/ was found; give the path of a .toml file.")
                       : unknown_value("scenario", text, names));
}

}  // namespace huddle
