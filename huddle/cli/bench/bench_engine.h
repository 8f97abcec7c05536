// On which engine a benchmark runs, and with how many workers: what all commands of `huddle bench`
// share.

#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "huddle/cluster/cluster.h"
#include "huddle/transport/launcher.h"

namespace huddle {

struct BenchEngine {
  std::string spec = "threads";
  int workers = 4;
  bool as_json = false;
};

// --engine, --workers and --json. `engine` outlives the parsing.
void declare_engine(CLI::App& command, BenchEngine& engine);

// The first half of starting one: where workers are processes, as many as there are. Throws
// UsageError on an engine without real time and where nothing says which worker this process is.
struct BenchPlace {
  bool is_first = true;  // The process that prints.
  std::function<std::unique_ptr<Launcher>(const Cluster& cluster, const std::string& terms)> start;
};
BenchPlace take_place(const CLI::App& command, BenchEngine& engine);

}  // namespace huddle
