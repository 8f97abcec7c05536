#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "huddle/cli/memory.h"

namespace huddle {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The number of a file that holds nothing else; nothing where there is no such file or number
// ("max").
std::optional<double> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The number behind a name, in a file of "name number" lines.
std::optional<double> number_of(const std::filesystem::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    double number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

// The names of the files that say so, in one version of control groups.
struct GroupFiles {
  const char* folder;
  const char* limit;
  const char* use;
  const char* reclaimable;  // Of memory.stat: what files were read, which the system gives back.
};
constexpr GroupFiles kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

// The tightest of a group and all groups around it.
double free_of_group(const std::filesystem::path& root, const GroupFiles& files,
                     std::filesystem::path group) {
  double free = kNoLimit;
  while (true) {
    const std::filesystem::path folder = root / files.folder / group.relative_path();
    const auto limit = number_in(folder / files.limit);
    const auto use = number_in(folder / files.use);
    if (limit && use)
      free = std::min(
          free, *limit - *use + number_of(folder / "memory.stat", files.reclaimable).value_or(0));
    if (!group.has_relative_path()) return std::max(0.0, free);
    group = group.parent_path();
  }
}

}  // namespace

double free_bytes(const std::filesystem::path& root) {
  const auto kilobytes = number_of(root / "proc/meminfo", "MemAvailable:");
  double free = kilobytes ? *kilobytes * 1024 : kNoLimit;
  std::ifstream groups(root / "proc/self/cgroup");  // Lines of "number:controllers:/path".
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) free = std::min(free, free_of_group(root, kVersion2, path));
    if (controllers == "memory") free = std::min(free, free_of_group(root, kVersion1, path));
  }
  return free;
}

}  // namespace huddle
