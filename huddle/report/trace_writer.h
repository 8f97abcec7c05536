// Trace events as text, and the file that holds them: the Trace Event Format of Chrome, which
// Perfetto reads too, in its form as one JSON object.
//
// Events are written in blocks, and the end of the object goes with every block, to be overwritten
// by the next. So the file is whole JSON from its first moment on, however the process ends, unless
// it is killed in the microseconds that writing a block takes: viewers read a trace that is cut off
// only in the format's other form, a bare array, which has no place for what the trace is about.

#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "huddle/base/ids.h"

namespace huddle {

// Events, each with the comma that parts it from the one before.
using EventText = std::string;

// A moment of a trace. Whole numbers, so that slices which touch still touch when they are read.
using Nanoseconds = std::int64_t;
Nanoseconds nanoseconds(Time time);

// A row of the picture.
struct Track {
  int process = 0;
  int thread = 0;
};

struct Interval {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

// The number in digits, without the detour of a format.
void append_number(EventText& text, std::int64_t number);

// `text` as a JSON string, with its quotes. Bytes that are not UTF-8 are replaced.
std::string quoted(const std::string& text);

// A slice; those of one track must lie inside one another or apart. `name` is written as it is;
// `arguments` is the inside of a JSON object.
void append_slice(EventText& text, Track track, Interval interval, std::string_view name,
                  std::string_view arguments = {});

// What a process (`process_name`) or a thread (`thread_name`) is called, and its place among
// others. `name` is quoted here.
void append_process_name(EventText& text, int process, const std::string& name);
void append_thread_name(EventText& text, Track track, const std::string& name);

// Everything of a counter's event before its moment: made once, for there are many of them.
std::string counter_prefix(int process, const std::string& name);
void append_counter(EventText& text, std::string_view prefix, Nanoseconds at,
                    std::int64_t bytes_per_second);

// The file. Any thread may add events.
class TraceWriter {
 public:
  // Begins the file with events, of which there must be one, and with what the trace is about, as a
  // JSON object. Throws UsageError where the file cannot be written.
  TraceWriter(std::filesystem::path path, const EventText& first_events, std::string_view about);

  // Writes what is left, without a word about failures.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Adds events; those of one call stay together, and those of one thread in order. One caller in
  // many writes a block; the others do not wait for it. After a failure to write the file stays as
  // it is, and nothing more is added. REQUIRES: not closed.
  void append(const EventText& events);

  // Throws Error when something could not be written.
  void require_written() const;

  // Writes what is left; later calls do nothing. Throws as `require_written`.
  void close();

 private:
  void write_block();
  bool write_at(std::string_view text, std::int64_t offset);

  const std::filesystem::path path_;
  const std::string end_;       // Of the object.
  std::atomic<int> error_ = 0;  // What went wrong first.

  // Blocks are taken and written under this mutex, so that they keep their order; it comes before
  // the other one.
  std::mutex file_mutex_;
  std::string writing_;     // Guarded by file_mutex_, like what follows.
  std::int64_t place_ = 0;  // In the file: where the events end.
  int file_ = -1;           // -1 when closed.

  std::mutex block_mutex_;
  std::string block_;  // Guarded by block_mutex_. Events that nobody writes yet.
};

}  // namespace huddle
