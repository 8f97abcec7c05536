#include "huddle/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"

namespace huddle {
namespace {

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kWidthForBar = 40;

}  // namespace

Seconds redraw_interval(ProgressMode mode) { return mode == ProgressMode::bar ? 0.1 : 2; }

std::size_t terminal_width(std::FILE* out) {
  winsize size{};
  const bool known = ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

ProgressMode progress_mode(std::FILE* out) {
  return ::isatty(::fileno(out)) == 1 ? ProgressMode::bar : ProgressMode::lines;
}

Progress::Progress(std::FILE* out, std::int64_t total_steps, ProgressMode mode)
    : Progress(out, total_steps, mode, steady_seconds) {}

Progress::Progress(std::FILE* out, std::int64_t total_steps, ProgressMode mode, Clock clock)
    : out_(out), total_steps_(total_steps), mode_(mode), clock_(std::move(clock)) {
  check(total_steps >= 0, "a negative number of steps");
}

Progress::~Progress() { finish(); }

void Progress::update(std::int64_t steps_done, std::optional<double> loss) {
  if (mode_ == ProgressMode::quiet) return;
  const std::scoped_lock lock(mutex_);
  if (finished_) return;
  now_ = clock_();
  if (!state_) {
    state_.emplace().steps_done = steps_done;
    first_steps_done_ = steps_done;
    first_at_ = now_;
  }
  if (steps_done < state_->steps_done) return;
  state_->steps_done = steps_done;
  state_->loss = loss;
  show_if_due();
}

void Progress::evaluated(std::int64_t models, std::int64_t of) {
  const std::scoped_lock lock(mutex_);
  if (finished_ || !state_) return;
  now_ = clock_();
  state_->evaluation = fmt::format("evaluating {}/{}", models, of);
  show_if_due();
}

void Progress::show_if_due() {
  is_shown_ = false;
  if (!shown_at_ || now_ - *shown_at_ >= redraw_interval(mode_)) show();
}

void Progress::finish() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(finished_, true) || !state_) return;
  if (!is_shown_) show();
  if (mode_ == ProgressMode::bar) {
    std::fputc('\n', out_);
    std::fflush(out_);
  }
}

void Progress::show() {
  // A terminal that is written to its last column may already be on the next line, so one column
  // stays free. The escape sequence erases what is left of a longer line before.
  const std::string text = mode_ == ProgressMode::bar
                               ? "\r" + bar_line(terminal_width(out_) - 1) + "\x1b[K"
                               : plain_line() + "\n";
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
  shown_at_ = now_;
  is_shown_ = true;
}

double Progress::steps_per_second() const {
  const Seconds passed = now_ - first_at_;
  return passed > 0 ? static_cast<double>(state_->steps_done - first_steps_done_) / passed : 0;
}

double Progress::share_done() const {
  if (total_steps_ == 0) return 1;
  return std::min(1.0, static_cast<double>(state_->steps_done) / static_cast<double>(total_steps_));
}

// "37/100   37 %  12.5/s  loss 0.3120  5.0 s left", as far as these are known and fit into
// `width`.
std::string Progress::figures(std::size_t width) const {
  std::string text;
  const auto add = [&](const std::string& part) {
    const std::string separator = text.empty() ? "" : "  ";
    if (display_width(text + separator + part) <= width) text += separator + part;
  };
  const double speed = steps_per_second();
  const std::int64_t left = total_steps_ - state_->steps_done;
  add(fmt::format("{}/{}", state_->steps_done, total_steps_));
  add(fmt::format("{:>5}", format_percent(share_done(), 0)));
  if (speed > 0) add(format_rate(speed) + "/s");
  if (state_->loss) add("loss " + format_figure(*state_->loss));
  if (speed > 0 && left > 0) add(format_seconds(static_cast<double>(left) / speed) + " left");
  if (!state_->evaluation.empty()) add(state_->evaluation);
  return text;
}

std::string Progress::plain_line() const { return "step " + figures(std::string::npos); }

// The bar takes an eighth of the line whatever the figures are, so that it stands still while they
// change.
std::string Progress::bar_line(std::size_t width) const {
  if (width < kWidthForBar) return figures(width);
  const std::size_t bar = width / 8;
  return text_bar(share_done(), static_cast<int>(bar)) + "  " + figures(width - bar - 2);
}

}  // namespace huddle
