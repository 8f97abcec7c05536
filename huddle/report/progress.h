// How far a run has come, told while it runs: one line that redraws itself on a terminal, a plain
// line now and then in a log.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "huddle/base/ids.h"

namespace huddle {

enum class ProgressMode {
  bar,    // One line, redrawn at most 10 times a second.
  lines,  // The first and the last state, and at most one line every 2 seconds between.
  quiet,  // Nothing.
};

// `bar` where `out` is a terminal, `lines` elsewhere.
ProgressMode progress_mode(std::FILE* out);

// At least so long between two states that are shown.
Seconds redraw_interval(ProgressMode mode);

// How many columns `out` has; 80 where it is no terminal.
std::size_t terminal_width(std::FILE* out);

class Progress {
 public:
  // Seconds from any origin, never going back.
  using Clock = std::function<Seconds()>;

  // `out` is borrowed and must outlive this. REQUIRES: total_steps >= 0.
  Progress(std::FILE* out, std::int64_t total_steps, ProgressMode mode);
  Progress(std::FILE* out, std::int64_t total_steps, ProgressMode mode, Clock clock);

  // Finishes, so that whatever is printed next (an error, say) begins a line of its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Any thread may call it. The farthest state counts: a worker that lags behind does not turn
  // progress back.
  void update(std::int64_t steps_done, std::optional<double> loss);

  // After the steps: so many of `of` models are evaluated.
  void evaluated(std::int64_t models, std::int64_t of);

  // Shows the last state and ends the line; later calls do nothing, and later updates are not
  // shown.
  void finish();

 private:
  struct State {
    std::int64_t steps_done = 0;
    std::optional<double> loss;  // Absent where nothing is trained.
    std::string evaluation;      // "evaluating 3/40"; empty before that.
  };

  void show();
  void show_if_due();
  std::string bar_line(std::size_t width) const;
  std::string plain_line() const;
  std::string figures(std::size_t width) const;
  double steps_per_second() const;
  double share_done() const;

  std::FILE* const out_;
  const std::int64_t total_steps_;
  const ProgressMode mode_;
  const Clock clock_;

  // Updates come from the threads of all workers. The mutex is held while a line is drawn and never
  // across a wait for a peer. It guards everything below.
  std::mutex mutex_;
  bool finished_ = false;
  bool is_shown_ = false;       // Whether the newest state has been drawn.
  std::optional<State> state_;  // Absent until the first update.
  Seconds now_ = 0;             // Of the newest update.
  // The first update; speed is counted from here, so that neither start-up nor the steps before a
  // resumed run distort it.
  std::int64_t first_steps_done_ = 0;
  Seconds first_at_ = 0;
  std::optional<Seconds> shown_at_;
};

}  // namespace huddle
