#include "huddle/report/runs_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "huddle/base/text.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"

namespace huddle {

RunsProgress::RunsProgress(std::FILE* out, ProgressMode mode, Progress::Clock clock)
    : line_(out, mode, std::move(clock), [this](std::size_t width) { return text(width); }) {}

void RunsProgress::update(const RunsState& state) {
  if (!line_.update()) return;
  if (!state_) first_work_ = state.work_done;
  // A terminal shows who is running now; a log is written for what has come to an end.
  if (!state_ || state_->done != state.done) line_.renew();
  state_ = state;
  line_.show_if_due();
}

// "3/12 runs   25 %  42 s left  now lan/bsp/1, lan/sesgd/1", as far as it fits.
std::string RunsProgress::text(std::size_t width) const {
  std::string text;
  const auto add = [&](const std::string& part) { add_if_it_fits(text, part, width); };
  const double share = state_->work_total > 0 ? state_->work_done / state_->work_total : 1;
  if (width != ProgressLine::kLogWidth) add(text_bar(share, static_cast<int>(width / 8)));
  add(fmt::format("{}/{} runs", state_->done, state_->total));
  add(fmt::format("{:>5}", format_percent(std::min(share, 1.0), 0)));
  const double gained = state_->work_done - first_work_;
  const double left = state_->work_total - state_->work_done;
  if (gained > 0 && left > 0 && line_.passed() > 0)
    add(format_seconds(line_.passed() * left / gained) + " left");
  if (!state_->running.empty()) {
    std::vector<std::string> names = state_->running;
    while (names.size() > 1 && display_width(text + "  now " + joined(names) + " ...") > width)
      names.pop_back();
    add("now " + joined(names) + (names.size() < state_->running.size() ? " ..." : ""));
  }
  return text;
}

}  // namespace huddle
