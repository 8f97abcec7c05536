// Runs every vector test over a folder of JSON files:  huddle_vectors DIR
//
// The format of the files is described in tests/vectors/README.md. A new file of a known topic
// needs no rebuild. Closes with "N passed, M failed, K skipped"; skipped are cases of strategies
// and topics that this build does not have.
//
// Trajectories run on every engine that this build has. MPI starts its processes itself:
//
//     mpirun -n 8 huddle_vectors --engine mpi DIR

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <vector>

#include "huddle/base/text.h"
#include "tests/vectors.h"

namespace huddle {
namespace {

using Topic = std::function<Verdict(const nlohmann::json&, const nlohmann::json&)>;

bool is_of_trajectories(const std::string& topic) { return topic.starts_with("trajectories"); }

Topic topic_of(const std::string& name, std::span<const VectorEngine> engines) {
  if (name == "costs") return run_costs;
  if (name == "schedules") return run_schedules;
  if (name == "mixing") return run_mixing;
  if (name == "contraction") return run_contraction;
  if (name == "group_former") return run_group_former;
  if (name == "staleness") return run_staleness;
  if (!is_of_trajectories(name)) return nullptr;
  return [engines](const nlohmann::json& file, const nlohmann::json& test) {
    return run_trajectory(file, test, engines);
  };
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

// What depends on no engine is run where all are tried.
enum class Extent { everything, trajectories };

int run(const std::filesystem::path& folder, std::span<const VectorEngine> engines, Extent extent) {
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
    if (extent == Extent::trajectories && !is_of_trajectories(topic)) continue;
    Count count;
    for (const nlohmann::json& test : file.at("cases"))
      run_case(topic_of(topic, engines), file, test,
               fmt::format("{} {}", path.filename().string(), test.value("id", "?")), count);
    fmt::print("{}: {} passed, {} failed, {} skipped\n", path.filename().string(), count.passed,
               count.failed, count.skipped);
    total = {total.passed + count.passed, total.failed + count.failed,
             total.skipped + count.skipped};
  }
  fmt::print("{} passed, {} failed, {} skipped\n", total.passed, total.failed, total.skipped);
  return total.failed == 0 ? 0 : 1;
}

// Each process of mpirun has its part in every case; that of worker 0 judges and prints.
int run_over_mpi(const std::filesystem::path& folder) {
  const std::unique_ptr<MpiEngine> mpi = mpi_engine();
  if (mpi == nullptr) {
    fmt::print(stderr, "huddle_vectors: this build has no engine mpi\n");
    return 2;
  }
  if (!mpi->is_worker_0 && std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
  return run(folder, {&mpi->engine, 1}, Extent::trajectories);
}

int run_here(const std::filesystem::path& folder) {
  const std::vector<VectorEngine> engines = own_engines();
  std::vector<std::string> names;
  for (const VectorEngine& engine : engines) names.push_back(engine.name);
  fmt::print("trajectories on: {}\n", joined(names));
  if (const std::vector<std::string> missing = engines_left_out(); !missing.empty())
    fmt::print("left out, because this build lacks them: {}\n", joined(missing));
  return run(folder, engines, Extent::everything);
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "--engine" && arguments[1] == "mpi")
    return huddle::run_over_mpi(arguments[2]);
  if (arguments.size() == 1) return huddle::run_here(arguments[0]);
  fmt::print(stderr,
             "usage: huddle_vectors FOLDER\n"
             "       mpirun -n 8 huddle_vectors --engine mpi FOLDER\n");
  return 2;
}
