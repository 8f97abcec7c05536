#include "huddle/report/runs_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "huddle/base/text.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"

namespace huddle {

RunsProgress::RunsProgress(std::FILE* out, ProgressMode mode, Progress::Clock clock)
    : out_(out), mode_(mode), clock_(std::move(clock)) {}

RunsProgress::~RunsProgress() { finish(); }

void RunsProgress::update(const RunsState& state) {
  if (mode_ == ProgressMode::quiet || is_finished_) return;
  now_ = clock_();
  const bool has_news = !state_ || state_->done != state.done;
  if (!state_) {
    first_work_ = state.work_done;
    first_at_ = now_;
  }
  state_ = state;
  is_shown_ = is_shown_ && !has_news;
  const bool is_due = !shown_at_ || now_ - *shown_at_ >= redraw_interval(mode_);
  // A terminal shows who is running now; a log is written for what has come to an end.
  if (is_due && (mode_ == ProgressMode::bar || !is_shown_)) show();
}

void RunsProgress::finish() {
  if (std::exchange(is_finished_, true) || !state_) return;
  if (!is_shown_) show();
  if (mode_ == ProgressMode::bar) {
    std::fputc('\n', out_);
    std::fflush(out_);
  }
}

void RunsProgress::show() {
  const std::string text = mode_ == ProgressMode::bar
                               ? "\r" + line(terminal_width(out_) - 1) + "\x1b[K"
                               : line(std::string::npos) + "\n";
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
  shown_at_ = now_;
  is_shown_ = true;
}

// "3/12 runs   25 %  42 s left  now lan/bsp/1, lan/sesgd/1", as far as it fits.
std::string RunsProgress::line(std::size_t width) const {
  std::string text;
  const auto add = [&](const std::string& part) {
    const std::string separator = text.empty() ? "" : "  ";
    if (display_width(text + separator + part) <= width) text += separator + part;
  };
  const double share = state_->work_total > 0 ? state_->work_done / state_->work_total : 1;
  if (mode_ == ProgressMode::bar) add(text_bar(share, static_cast<int>(width / 8)));
  add(fmt::format("{}/{} runs", state_->done, state_->total));
  add(fmt::format("{:>5}", format_percent(std::min(share, 1.0), 0)));
  const double gained = state_->work_done - first_work_;
  const double left = state_->work_total - state_->work_done;
  if (gained > 0 && left > 0 && now_ > first_at_)
    add(format_seconds((now_ - first_at_) * left / gained) + " left");
  if (!state_->running.empty()) {
    std::vector<std::string> names = state_->running;
    while (names.size() > 1 && display_width(text + "  now " + joined(names) + " ...") > width)
      names.pop_back();
    add("now " + joined(names) + (names.size() < state_->running.size() ? " ..." : ""));
  }
  return text;
}

}  // namespace huddle
