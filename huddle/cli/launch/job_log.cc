#include "huddle/cli/launch/job_log.h"

#include <algorithm>
#include <utility>

#include "huddle/base/text.h"

namespace huddle {
namespace {

// Processes that start together come to the same mistake within this time, or nearly always.
constexpr Seconds kWaitSeconds = 1;
constexpr std::string_view kOwnWords = "huddle: ";
constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::size_t kMostKnownLines = 10'000;

}  // namespace

JobLog::JobLog(int workers, Mode mode, Write write)
    : mode_(mode), write_(std::move(write)), begun_(static_cast<std::size_t>(workers)) {}

void JobLog::add(int worker, std::string_view bytes, Seconds now) {
  if (bytes.empty()) return;
  std::string& line = begun_[static_cast<std::size_t>(worker)];
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    line += bytes.substr(0, end);
    add_line(worker, std::exchange(line, ""), now);
    bytes.remove_prefix(end + 1);
  }
  line += bytes;
  if (worker == 0 && mode_ == Mode::terminal && !line.empty()) draw(line);
}

void JobLog::end(int worker, Seconds now) {
  std::string& line = begun_[static_cast<std::size_t>(worker)];
  if (!line.empty()) add_line(worker, std::exchange(line, ""), now);
}

void JobLog::show_due(Seconds now) {
  while (!waiting_.empty() && now - waiting_.front().since >= kWaitSeconds) {
    show_once(waiting_.front().worker, waiting_.front().line);
    waiting_.pop_front();
  }
}

void JobLog::show_all() {
  for (const Waiting& each : waiting_) show_once(each.worker, each.line);
  waiting_.clear();
}

void JobLog::add_line(int worker, std::string line, Seconds now) {
  const bool others_wait =
      std::ranges::any_of(waiting_, [&](const Waiting& each) { return each.worker == worker; });
  if (worker == 0)
    show_once(worker, line);
  else if (others_wait || line.starts_with(kOwnWords))
    waiting_.push_back({worker, std::move(line), now});
  else
    show(worker, line);
}

// Of worker 0, on a terminal. What is before a return to the line's beginning is gone for good.
void JobLog::draw(std::string& line) {
  if (const std::size_t back = line.rfind('\r'); back != std::string::npos) line.erase(0, back);
  write_(is_drawn_ ? concat(kClearLine, line) : line);
  is_drawn_ = true;
}

void JobLog::show_once(int worker, const std::string& line) {
  if (known_.size() >= kMostKnownLines) known_.clear();
  const int first_teller = line.empty() ? worker : known_.emplace(line, worker).first->second;
  if (first_teller == worker) show(worker, line);
}

void JobLog::show(int worker, const std::string& line) {
  // The line that worker 0 has begun makes way, or has come to its end itself.
  const std::string_view cleared = std::exchange(is_drawn_, false) ? kClearLine : "";
  const std::string number = worker == 0 ? "" : concat('[', worker, "] ");
  write_(concat(cleared, number, line, '\n'));
  if (worker != 0 && !cleared.empty()) draw(begun_.front());
}

}  // namespace huddle
