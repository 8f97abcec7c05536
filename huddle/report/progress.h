// How far something has come (a run, many runs, the reading of files), told on the way: one line
// that redraws itself on a terminal, a plain line now and then in a log.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "huddle/base/ids.h"
#include "huddle/base/steady_seconds.h"

namespace huddle {

enum class ProgressMode {
  bar,    // One line, redrawn at most 10 times a second.
  lines,  // The first and the last state, and at most one line every 2 seconds between.
  quiet,  // Nothing.
};

// `bar` where `out` is a terminal, `lines` elsewhere.
ProgressMode progress_mode(std::FILE* out);

// The line, whatever it tells: when it is drawn, and where it ends. Used by one thread at a time.
class ProgressLine {
 public:
  // Seconds from any origin, never going back.
  using Clock = std::function<Seconds()>;

  // What there is to tell, as far as it fits into so many columns.
  using Text = std::function<std::string(std::size_t width)>;
  static constexpr std::size_t kLogWidth = std::string::npos;  // The width of a line of a log.

  // Nothing is shown of what lasts less than `patience`. `out` is borrowed and must outlive
  // this, and so must all that `text` tells of.
  ProgressLine(std::FILE* out, ProgressMode mode, Clock clock, Text text, Seconds patience = 0);

  // Finishes, so that whatever is printed next (an error, say) begins a line of its own.
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Begins an update. False: nothing is shown, or not any more.
  bool update();

  // Between the first update and the newest.
  Seconds passed() const { return now_ - first_at_.value_or(now_); }

  // What was shown is outdated. A log is written for this alone, a terminal is redrawn anyway.
  void renew() { is_shown_ = false; }
  void show_if_due();

  // Shows the last state and ends the line; later calls do nothing.
  void finish();

 private:
  void show();

  std::FILE* const out_;
  const ProgressMode mode_;
  const Clock clock_;
  const Text text_;
  const Seconds patience_;
  Seconds now_ = 0;  // Of the newest update.
  std::optional<Seconds> first_at_;
  std::optional<Seconds> shown_at_;
  bool is_shown_ = false;  // Whether the newest state has been drawn.
  bool is_finished_ = false;
};

// Adds a part to a line, two spaces behind what it holds, unless it would be too wide then.
void add_if_it_fits(std::string& line, const std::string& part, std::size_t width);

class Progress {
 public:
  using Clock = ProgressLine::Clock;

  // `out` is borrowed and must outlive this. REQUIRES: total_steps >= 0.
  Progress(std::FILE* out, std::int64_t total_steps, ProgressMode mode,
           Clock clock = steady_seconds);

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

  std::string text(std::size_t width) const;

  const std::int64_t total_steps_;

  // Updates come from the threads of all workers. The mutex is held while a line is drawn and never
  // across a wait for a peer. It guards everything below.
  std::mutex mutex_;
  std::optional<State> state_;  // Absent until the first update.
  // At the first update; speed is counted from here, so that neither start-up nor the steps before
  // a resumed run distort it.
  std::int64_t first_steps_done_ = 0;
  ProgressLine line_;  // Finishes while the rest is there.
};

}  // namespace huddle
