// Runs every vector test over a folder of JSON files:  huddle_vectors DIR
//
// The format of the files is described in tests/vectors/README.md. A new file of a known topic
// needs no rebuild. Closes with "N passed, M failed, K skipped"; skipped are cases of strategies
// and topics that this build does not have.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <vector>

#include "tests/vectors.h"

namespace huddle {
namespace {

using Topic = std::function<Verdict(const nlohmann::json&, const nlohmann::json&)>;

Topic topic_of(const std::string& name) {
  if (name == "costs") return run_costs;
  if (name == "schedules") return run_schedules;
  if (name == "mixing") return run_mixing;
  if (name == "contraction") return run_contraction;
  if (name == "group_former") return run_group_former;
  if (name == "staleness") return run_staleness;
  if (name.starts_with("trajectories")) return run_trajectory;
  return nullptr;
}

struct Count {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

void run_case(const Topic& topic, const nlohmann::json& file, const nlohmann::json& test,
              const std::string& name, Count& count) {
  Verdict verdict;
  if (topic) {
    try {
      verdict = topic(file, test);
    } catch (const std::exception& error) {
      verdict = error.what();
    }
  }
  if (!verdict) {
    ++count.skipped;
  } else if (verdict->empty()) {
    ++count.passed;
  } else {
    ++count.failed;
    fmt::print("FAILED {}: {}\n", name, *verdict);
  }
}

int run(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
  if (paths.empty()) {
    fmt::print(stderr, "huddle_vectors: no JSON files in {}\n", folder.string());
    return 2;
  }
  std::sort(paths.begin(), paths.end());
  Count total;
  for (const std::filesystem::path& path : paths) {
    const nlohmann::json file = nlohmann::json::parse(std::ifstream(path));
    const std::string topic = file.value("topic", path.stem().string());
    Count count;
    for (const nlohmann::json& test : file.at("cases"))
      run_case(topic_of(topic), file, test,
               fmt::format("{} {}", path.filename().string(), test.value("id", "?")), count);
    fmt::print("{}: {} passed, {} failed, {} skipped\n", path.filename().string(), count.passed,
               count.failed, count.skipped);
    total = {total.passed + count.passed, total.failed + count.failed,
             total.skipped + count.skipped};
  }
  fmt::print("{} passed, {} failed, {} skipped\n", total.passed, total.failed, total.skipped);
  return total.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: huddle_vectors FOLDER\n");
    return 2;
  }
  return huddle::run(argv[1]);
}
