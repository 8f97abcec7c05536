#include "huddle/report/trace_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

// In microseconds, as the format wants them. By hand: most of a timeline is moments.
void append_moment(EventText& text, Nanoseconds moment) {
  append_number(text, moment / 1000);
  const auto rest = static_cast<int>(moment % 1000);
  const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                         static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)};
  text.append(digits, sizeof digits);
}

void append_metadata(EventText& text, Track track, std::string_view about,
                     std::string_view arguments) {
  fmt::format_to(std::back_inserter(text),
                 ",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{{}}}}}",
                 track.process, track.thread, about, arguments);
}

}  // namespace

Nanoseconds nanoseconds(Time time) { return std::llround(time * 1e9); }

void append_number(EventText& text, std::int64_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, end);
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_slice(EventText& text, Track track, Interval interval, std::string_view name,
                  std::string_view arguments) {
  text.append(",\n{\"ph\":\"X\",\"pid\":");
  append_number(text, track.process);
  text.append(",\"tid\":");
  append_number(text, track.thread);
  text.append(",\"ts\":");
  append_moment(text, interval.begin);
  text.append(",\"dur\":");
  append_moment(text, interval.end - interval.begin);
  text.append(",\"name\":\"");
  text.append(name);
  text += '"';
  if (!arguments.empty()) {
    text.append(",\"args\":{");
    text.append(arguments);
    text += '}';
  }
  text += '}';
}

void append_process_name(EventText& text, int process, const std::string& name) {
  const Track track{process, 0};
  append_metadata(text, track, "process_name", concat("\"name\":", quoted(name)));
  append_metadata(text, track, "process_sort_index", concat("\"sort_index\":", process));
}

void append_thread_name(EventText& text, Track track, const std::string& name) {
  append_metadata(text, track, "thread_name", concat("\"name\":", quoted(name)));
  append_metadata(text, track, "thread_sort_index", concat("\"sort_index\":", track.thread));
}

std::string counter_prefix(int process, const std::string& name) {
  return concat(",\n{\"ph\":\"C\",\"pid\":", process, ",\"tid\":0,\"name\":", quoted(name),
                ",\"ts\":");
}

void append_counter(EventText& text, std::string_view prefix, Nanoseconds at,
                    std::int64_t bytes_per_second) {
  text.append(prefix);
  append_moment(text, at);
  text.append(",\"args\":{\"bytes/s\":");
  append_number(text, bytes_per_second);
  text.append("}}");
}

TraceWriter::TraceWriter(std::filesystem::path path, const EventText& first_events,
                         std::string_view about)
    : path_(std::move(path)),
      end_(concat("\n],\"otherData\":", about, "}\n")),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (file_ < 0) error_ = errno;
  block_ = "{\"traceEvents\":[";
  block_.append(first_events.data() + 1, first_events.size() - 1);  // No comma before the first.
  if (error_ == 0) write_block();
  if (error_ == 0) return;
  if (file_ >= 0) ::close(file_);
  throw UsageError(concat("cannot write the file '", path_.string(), "': ", system_message(error_),
                          ". Name a file in a folder that can be written to."));
}

TraceWriter::~TraceWriter() {
  if (file_ < 0) return;
  write_block();
  ::close(file_);
}

void TraceWriter::append(const EventText& events) {
  if (error_ != 0 || events.size() == 0) return;
  {
    const std::scoped_lock lock(block_mutex_);
    block_.append(events.data(), events.size());
    if (block_.size() < kBlockBytes) return;
  }
  const std::unique_lock lock(file_mutex_, std::try_to_lock);
  if (lock.owns_lock()) write_block();  // Or somebody writes already, and the block grows.
}

void TraceWriter::require_written() const {
  if (error_ != 0)
    throw Error(concat("cannot write '", path_.string(), "': ", system_message(error_), "."));
}

void TraceWriter::close() {
  const std::scoped_lock lock(file_mutex_);
  if (file_ < 0) return;
  write_block();
  if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
  require_written();
}

// REQUIRES: file_mutex_ is held, or nobody else is here.
void TraceWriter::write_block() {
  writing_.clear();
  {
    const std::scoped_lock lock(block_mutex_);
    writing_.swap(block_);
  }
  if (error_ != 0 || writing_.empty()) return;
  check(file_ >= 0, "events are added to a trace that is closed");
  const auto bytes = static_cast<std::int64_t>(writing_.size());
  writing_ += end_;
  if (write_at(writing_, place_)) {
    place_ += bytes;
    return;
  }
  error_ = errno;
  // Whatever came of the block is cut off. What cannot be cut off (a device in place of the file)
  // needs no end either.
  if (::ftruncate(file_, place_) == 0) write_at(end_, place_);
}

// False leaves the cause in errno.
bool TraceWriter::write_at(std::string_view text, std::int64_t offset) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(file_, text.data(), text.size(), offset);
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      offset += written;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace huddle
