// What a timeline is drawn of, as it is written down during a run: bytes as they lie in memory, in
// the order in which workers and links told of them. For the machine that wrote it, and this
// version of Huddle.
//
// A log that was cut off is read as far as it goes.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "huddle/report/timeline_drawing.h"

namespace huddle {

// Any thread may add to it; what one thread adds stays in order.
class TimelineLog {
 public:
  // Throws UsageError where it cannot be written, or where the file is there and is no log.
  TimelineLog(std::filesystem::path path, const TimelineSubject& subject);
  ~TimelineLog();
  TimelineLog(const TimelineLog&) = delete;
  TimelineLog& operator=(const TimelineLog&) = delete;

  void add(const StepRecord& record);
  void add_finish(WorkerId worker, std::span<const Blocked> blocked);
  void add(std::span<const LinkLoad> loads);

  // Throws Error when something could not be written (a full disk); nothing more is added then.
  void require_written() const;

  // Writes what is left. Nothing is added any more.
  void close();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(std::span<const std::byte> entry);
  void write_block();

  const std::filesystem::path path_;
  std::atomic<int> error_ = 0;  // What went wrong first.
  std::mutex mutex_;            // Guards:
  std::vector<std::byte> block_;
  int file_ = -1;  // -1 when closed.
};

// What the log is of. Throws UsageError where it is none.
TimelineSubject subject_of_log(const std::filesystem::path& log);

// Draws all that is in the log.
void draw_log(const std::filesystem::path& log, TimelineDrawing& drawing);

}  // namespace huddle
