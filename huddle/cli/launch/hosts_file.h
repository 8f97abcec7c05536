// On which machines the workers of a job run. A hosts file has one machine a line:
//
//   # Two machines with four cores each, and the one where this is typed.
//   node1 slots=4
//   someone@node2 slots=4
//   localhost

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace huddle {

// This machine, where no ssh is needed.
inline constexpr const char* kThisHost = "localhost";

struct LaunchHost {
  std::string name;  // As ssh takes it, or kThisHost.
  int slots = 1;     // How many workers it takes.

  bool operator==(const LaunchHost&) const = default;
};

// `own_name` is what this machine is called, with or without its domain. Throws UsageError with all
// mistakes of the file and their lines.
std::vector<LaunchHost> read_hosts(const std::filesystem::path& file, const std::string& own_name);

// The host of each worker: the first one's slots are filled first. `what` names the list in errors.
// Throws UsageError where there are too few slots.
std::vector<std::string> place_workers(const std::vector<LaunchHost>& hosts, int workers,
                                       const std::string& what);

}  // namespace huddle
