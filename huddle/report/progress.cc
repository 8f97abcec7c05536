#include "huddle/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"

namespace huddle {
namespace {

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kWidthForBar = 40;
constexpr Seconds kRedrawSeconds = 0.1;  // At least so long between two states on a terminal,
constexpr Seconds kLogSeconds = 2;       // and in a log.

// How many columns `out` has; 80 where it is no terminal.
std::size_t terminal_width(std::FILE* out) {
  winsize size{};
  const bool known = ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

}  // namespace

ProgressMode progress_mode(std::FILE* out) {
  return ::isatty(::fileno(out)) == 1 ? ProgressMode::bar : ProgressMode::lines;
}

void add_if_it_fits(std::string& line, const std::string& part, std::size_t width) {
  const std::string separator = line.empty() ? "" : "  ";
  if (display_width(line + separator + part) <= width) line += separator + part;
}

ProgressLine::ProgressLine(std::FILE* out, ProgressMode mode, Clock clock, Text text,
                           Seconds patience)
    : out_(out),
      mode_(mode),
      clock_(std::move(clock)),
      text_(std::move(text)),
      patience_(patience) {}

bool ProgressLine::update() {
  if (mode_ == ProgressMode::quiet || is_finished_) return false;
  now_ = clock_();
  if (!first_at_) first_at_ = now_;
  return true;
}

void ProgressLine::show_if_due() {
  const bool is_bar = mode_ == ProgressMode::bar;
  const bool is_due = !shown_at_ || now_ - *shown_at_ >= (is_bar ? kRedrawSeconds : kLogSeconds);
  if (is_due && passed() >= patience_ && (is_bar || !is_shown_)) show();
}

void ProgressLine::finish() {
  if (std::exchange(is_finished_, true) || !first_at_ || passed() < patience_) return;
  if (!is_shown_) show();
  if (mode_ == ProgressMode::bar) {
    std::fputc('\n', out_);
    std::fflush(out_);
  }
}

void ProgressLine::show() {
  // A terminal that is written to its last column may already be on the next line, so one column
  // stays free. The escape sequence erases what is left of a longer line before.
  const std::string line = mode_ == ProgressMode::bar
                               ? "\r" + text_(terminal_width(out_) - 1) + "\x1b[K"
                               : text_(kLogWidth) + "\n";
  std::fputs(line.c_str(), out_);
  std::fflush(out_);
  shown_at_ = now_;
  is_shown_ = true;
}

Progress::Progress(std::FILE* out, std::int64_t total_steps, ProgressMode mode, Clock clock)
    : total_steps_(total_steps),
      line_(out, mode, std::move(clock), [this](std::size_t width) { return text(width); }) {
  check(total_steps >= 0, "a negative number of steps");
}

void Progress::update(std::int64_t steps_done, std::optional<double> loss) {
  const std::scoped_lock lock(mutex_);
  if (!line_.update()) return;
  if (!state_) {
    state_.emplace().steps_done = steps_done;
    first_steps_done_ = steps_done;
  }
  if (steps_done < state_->steps_done) return;
  state_->steps_done = steps_done;
  state_->loss = loss;
  line_.renew();
  line_.show_if_due();
}

void Progress::evaluated(std::int64_t models, std::int64_t of) {
  const std::scoped_lock lock(mutex_);
  if (!state_ || !line_.update()) return;
  state_->evaluation = fmt::format("evaluating {}/{}", models, of);
  line_.renew();
  line_.show_if_due();
}

void Progress::finish() {
  const std::scoped_lock lock(mutex_);
  line_.finish();
}

// "37/100   37 %  12.5/s  loss 0.3120  5.0 s left", as far as these are known and fit.
std::string Progress::text(std::size_t width) const {
  std::string text;
  const auto add = [&](const std::string& part) { add_if_it_fits(text, part, width); };
  const auto done = static_cast<double>(state_->steps_done);
  const double left = static_cast<double>(total_steps_) - done;
  const double share =
      total_steps_ == 0 ? 1 : std::min(1.0, done / static_cast<double>(total_steps_));
  const double speed =
      line_.passed() > 0 ? (done - static_cast<double>(first_steps_done_)) / line_.passed() : 0;
  const bool is_log = width == ProgressLine::kLogWidth;
  // The bar takes an eighth of the line whatever the figures are, so that it stands still while
  // they change.
  if (!is_log && width >= kWidthForBar) add(text_bar(share, static_cast<int>(width / 8)));
  add(fmt::format("{}{}/{}", is_log ? "step " : "", state_->steps_done, total_steps_));
  add(fmt::format("{:>5}", format_percent(share, 0)));
  if (speed > 0) add(format_rate(speed) + "/s");
  if (state_->loss) add("loss " + format_figure(*state_->loss));
  if (speed > 0 && left > 0) add(format_seconds(left / speed) + " left");
  if (!state_->evaluation.empty()) add(state_->evaluation);
  return text;
}

}  // namespace huddle
