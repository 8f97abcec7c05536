// Strategies side by side on a user's own model and data: what `huddle compare` does with those
// that come with Huddle.
// docs/library.md has an example.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "huddle/api/engine.h"
#include "huddle/compare/comparison_files.h"
#include "huddle/compare/comparison_table.h"
#include "huddle/report/own_files.h"
#include "huddle/train/worker.h"

namespace huddle {

// Which run a body is in.
struct Trial {
  std::string strategy;
  int seed = 1;
};

struct CompareOptions {
  // The folder of it all: runs/ with what `run` writes, results.json, and report.html where this
  // build can make pages.
  std::filesystem::path out = "out/compare/own";
  Older older = Older::refuse;  // What becomes of an earlier comparison in it.
  std::string title = "Strategies on a model of one's own";
  std::string data = "own";         // What records call it.
  std::int64_t batch = 0;           // As in RunOptions.
  std::vector<int> seeds = {1};     // Each strategy is run with each of them.
  std::int64_t evaluate_every = 0;  // Likewise.
  bool timeline = false;            // Likewise.
  int jobs = 0;  // Simulations at once; 0: as many as there are cores. Others run one by one.
};

using CompareBody = std::function<void(Worker&, const Trial&)>;

// Runs `body` under each strategy on each engine: a case each, named after its cluster, with the
// first strategy that is a `bsp` as the yardstick. A run that fails is a row that says why.
//
// Each run is made in a child of this process, because a process can simulate but once. So what a
// body changes in memory stays there, what it prints is dropped, and whatever else should come out
// is told through `Worker::evaluate` or written to files. Bodies are stopped if this process ends.
// REQUIRES: no other thread of this process is at work, and it has used no GPU: a child would have
// neither. Throws UsageError for what cannot be run at all, like a strategy that no body can
// attach.
Comparison compare(const std::vector<Engine>& engines, const std::vector<std::string>& strategies,
                   const CompareBody& body, const CompareOptions& options = {});
inline Comparison compare(const Engine& engine, const std::vector<std::string>& strategies,
                          const CompareBody& body, const CompareOptions& options = {}) {
  return compare(std::vector{engine}, strategies, body, options);
}

}  // namespace huddle
