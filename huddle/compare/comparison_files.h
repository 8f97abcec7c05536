// A comparison on disk: what its runs left in their folders, and results.json, which holds it whole
// and which every report is made from. Keys: see docs/compare.md.

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/compare/comparison.h"
#include "huddle/compare/expectation.h"

namespace huddle {

// What summary.json in `folder` says of a run; nothing where there is none, or none that is whole.
std::optional<RunOutcome> read_outcome(const std::filesystem::path& folder);

// When each step was over for the slowest worker, from steps.jsonl in `folder`, in seconds. Throws
// as read_step_lines does.
std::vector<Time> read_step_ends(const std::filesystem::path& folder);

// Bytes that a worker has sent until `time`, on the mean, from steps.jsonl in `folder`. Throws as
// read_step_lines does.
double read_bytes_sent(const std::filesystem::path& folder, Time time);

// A run that was made for its values alone; others have its values with times of their own.
struct Training {
  std::string id;
  std::string strategy;
  int seed = 0;
  std::string status;
  std::string command;
};

// A run that was made to choose a learning rate, judged by samples held out of the training data.
struct Tuning {
  std::string id;
  std::string case_name;
  int other_cases = 0;  // That it serves too.
  std::string label;
  std::string value;  // Of the learning rate, as typed.
  std::string status;
  std::optional<double> accuracy;
  std::optional<double> loss;
  bool is_best = false;
  std::string command;
};

struct Comparison {
  struct Case {
    std::string name;
    std::string text;
    std::string cluster;           // The file of its cluster, seen from the comparison's folder.
    std::optional<Target> target;  // With its value worked out.
    std::optional<ConsensusCost> consensus;
  };

  std::string name;
  std::string title;
  std::string text;
  std::string claim;
  std::vector<std::string> assumptions;
  std::optional<Target> target;
  std::string source;  // The scenario's text.
  std::string note;    // What readers must know about how it was run; mostly empty.
  std::vector<Case> cases;
  std::vector<Tuning> tunings;
  std::vector<Training> trainings;
  std::vector<ComparedRun> runs;
  std::vector<ComparedRow> table;
  std::vector<Verdict> verdicts;  // One for each expectation of the scenario.
};

// All that differs between two equal comparisons.
struct WallClock {
  std::string machine;
  Seconds seconds = 0;
  std::map<std::string, Seconds> by_run;
};

// The text of results.json. Equal comparisons give equal text but for what `wall` says.
std::string results_json(const Comparison& comparison, const WallClock& wall,
                         const std::string& version);

}  // namespace huddle
