// A run as a picture over time, in a file: timeline_drawing.h says of what.
//
// Workers add to it between their steps, so during the run it only takes notes, in a log beside the
// file ("timeline.json.log"), and draws when it is closed. From its first moment on the file is
// whole, if empty. Of a run that was killed the log stays: draw_timeline draws it.

#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>

#include "huddle/report/timeline_drawing.h"
#include "huddle/report/timeline_log.h"

namespace huddle {

class TimelineFile {
 public:
  // Begins file and log. Throws UsageError where they cannot be written.
  TimelineFile(std::filesystem::path path, const TimelineSubject& subject);

  // Closes it, without a word about failures.
  ~TimelineFile();
  TimelineFile(const TimelineFile&) = delete;
  TimelineFile& operator=(const TimelineFile&) = delete;

  // Notes a step. Any thread may call it, but the records of one worker must come one by one, in
  // order. Throws Error when notes could not be written (a full disk). REQUIRES: not closed.
  void add(const StepRecord& record);

  // Notes what a worker waited for after its last step; likewise.
  void add_finish(WorkerId worker, std::span<const Blocked> blocked);

  // Notes what links carried, each link's loads in the order of time. Never throws: failures show
  // with the next step. REQUIRES: not closed.
  void add(std::span<const LinkLoad> loads);

  // Draws all and removes the log. Later calls do nothing. Throws Error when something could not be
  // written.
  void close();

  // How much real time all callers together have spent taking notes.
  Seconds seconds_inside() const;

 private:
  template <typename Note>
  void take(const Note& note);

  bool is_closed_ = false;
  TimelineDrawing drawing_;
  TimelineLog log_;
  std::atomic<std::int64_t> nanoseconds_inside_ = 0;  // Real ones.
};

// Where a timeline's log lies.
std::filesystem::path timeline_log_of(const std::filesystem::path& timeline);

// Draws the timeline of a run that was killed, of its log, which goes. Throws UsageError where
// there is none.
void draw_timeline(const std::filesystem::path& timeline);

}  // namespace huddle
