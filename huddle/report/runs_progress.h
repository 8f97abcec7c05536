// How far many runs have come, told while they run: in the same manner as the progress of one
// (progress.h), but in runs, with the names of those under way.

#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "huddle/base/steady_seconds.h"
#include "huddle/report/progress.h"

namespace huddle {

// The state of a list of runs. Work is in any unit: runs differ in length, so their number alone
// would not tell the time that is left.
struct RunsState {
  int done = 0;
  int total = 0;
  double work_done = 0;
  double work_total = 0;
  std::vector<std::string> running;
};

// Used by one thread.
class RunsProgress {
 public:
  // `out` is borrowed and must outlive this.
  RunsProgress(std::FILE* out, ProgressMode mode, Progress::Clock clock = steady_seconds);

  void update(const RunsState& state);

  // Shows the last state and ends the line; later calls do nothing.
  void finish() { line_.finish(); }

 private:
  std::string text(std::size_t width) const;

  std::optional<RunsState> state_;
  double first_work_ = 0;  // That was done before the first update.
  ProgressLine line_;      // Finishes while the rest is there.
};

}  // namespace huddle
