#include "huddle/report/timeline.h"

#include <system_error>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"

namespace huddle {

std::filesystem::path timeline_log_of(const std::filesystem::path& timeline) {
  return timeline.string() + ".log";
}

TimelineFile::TimelineFile(std::filesystem::path path, const TimelineSubject& subject)
    : drawing_(path, subject), log_(timeline_log_of(path), subject) {}

TimelineFile::~TimelineFile() {
  try {
    close();
  } catch (const Error&) {  // There is nobody to tell.
  }
}

template <typename Note>
void TimelineFile::take(const Note& note) {
  const Seconds since = steady_seconds();
  note();
  nanoseconds_inside_ += nanoseconds(steady_seconds() - since);
}

void TimelineFile::add(const StepRecord& record) {
  take([&] { log_.add(record); });
  log_.require_written();
}

void TimelineFile::add_finish(WorkerId worker, std::span<const Blocked> blocked) {
  take([&] { log_.add_finish(worker, blocked); });
  log_.require_written();
}

void TimelineFile::add(std::span<const LinkLoad> loads) {
  take([&] { log_.add(loads); });
}

void TimelineFile::close() {
  if (std::exchange(is_closed_, true)) return;
  log_.close();
  draw_log(log_.path(), drawing_);
  drawing_.close();
  std::error_code ignored;
  std::filesystem::remove(log_.path(), ignored);
  log_.require_written();
}

Seconds TimelineFile::seconds_inside() const {
  return static_cast<double>(nanoseconds_inside_) * 1e-9;
}

void draw_timeline(const std::filesystem::path& timeline) {
  const std::filesystem::path log = timeline_log_of(timeline);
  if (!std::filesystem::exists(log))
    throw UsageError(concat("there is no '", log.string(), "': a run leaves one only where it was ",
                            "killed before its timeline was drawn."));
  TimelineDrawing drawing(timeline, subject_of_log(log));
  draw_log(log, drawing);
  drawing.close();
  std::filesystem::remove(log);
}

}  // namespace huddle
