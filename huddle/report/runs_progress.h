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
  ~RunsProgress();
  RunsProgress(const RunsProgress&) = delete;
  RunsProgress& operator=(const RunsProgress&) = delete;

  void update(const RunsState& state);

  // Shows the last state and ends the line; later calls do nothing.
  void finish();

 private:
  void show();
  std::string line(std::size_t width) const;

  std::FILE* const out_;
  const ProgressMode mode_;
  const Progress::Clock clock_;
  std::optional<RunsState> state_;
  double first_work_ = 0;  // That was done before the first update.
  Seconds first_at_ = 0;
  Seconds now_ = 0;
  std::optional<Seconds> shown_at_;
  bool is_shown_ = false;
  bool is_finished_ = false;
};

}  // namespace huddle
