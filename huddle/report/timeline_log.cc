#include "huddle/report/timeline_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogBlockBytes = 64 * 1024;

// The first line of a log is this and its subject.
constexpr std::string_view kMagic = "huddle timeline log " HUDDLE_VERSION " ";

enum class Kind : std::int32_t { step, finish, loads };

// What stands before each entry.
struct Head {
  Kind kind = Kind::step;
  std::int32_t count = 0;  // Of stretches of waiting, or of loads.
};

// Of a step, followed by the members of its group.
struct StepHead {
  WorkerId worker;
  std::int32_t members = 0;
  Step step;
  double loss = 0;
  std::int64_t bytes_sent = 0;
  Time began = 0;
  Time ended = 0;
};

// A stretch of waiting, followed by its exchanges.
struct BlockedHead {
  Time from = 0;
  Time first_bytes = 0;
  Time to = 0;
  std::int64_t exchanges = 0;
};

// An entry on its way into the log: no larger than most are, so that it needs no memory of its own.
class Entry {
 public:
  template <typename Value>
  void put(const Value& value) {
    put_all(std::span(&value, 1));
  }
  template <typename Values>
  void put_all(const Values& values) {
    using Value = std::remove_cvref_t<decltype(*values.begin())>;
    static_assert(std::is_trivially_copyable_v<Value>);
    const auto count = static_cast<std::size_t>(values.end() - values.begin());
    if (count == 0) return;
    const auto bytes = std::as_bytes(std::span(&*values.begin(), count));
    if (long_.empty() && size_ + bytes.size() <= sizeof place_) {
      std::memcpy(place_ + size_, bytes.data(), bytes.size());
      size_ += bytes.size();
      return;
    }
    if (long_.empty()) long_.assign(place_, place_ + size_);
    long_.insert(long_.end(), bytes.begin(), bytes.end());
  }
  std::span<const std::byte> bytes() const {
    return long_.empty() ? std::span<const std::byte>(place_, size_) : long_;
  }

 private:
  std::byte place_[1024];
  std::size_t size_ = 0;
  std::vector<std::byte> long_;
};

void put_blocked(Entry& entry, std::span<const Blocked> blocked) {
  for (const Blocked& each : blocked) {
    entry.put(BlockedHead{each.from, each.first_bytes, each.to, std::ssize(each.exchanges)});
    entry.put_all(each.exchanges);
  }
}

nlohmann::ordered_json to_json(const TimelineSubject& subject) {
  return {{"strategy", subject.strategy},  {"engine", subject.engine},
          {"version", subject.version},    {"workers", subject.workers},
          {"virtual", subject.is_virtual}, {"links", subject.links}};
}

// Reads a log; throws nothing about one that was cut off.
class Reader {
 public:
  explicit Reader(const fs::path& log) : file_(log, std::ios::binary) {
    std::string line;
    std::getline(file_, line);
    const std::string_view text = line;
    if (!file_ || !text.starts_with(kMagic))
      throw UsageError(
          concat("'", log.string(),
                 "' is no log of a timeline of this version; remove it, or name another."));
    const auto json = nlohmann::json::parse(text.substr(kMagic.size()));
    subject = {.strategy = json.at("strategy"),
               .engine = json.at("engine"),
               .version = json.at("version"),
               .workers = json.at("workers"),
               .is_virtual = json.at("virtual"),
               .links = json.at("links")};
  }

  template <typename Value>
  bool get(Value& value) {
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(&value), sizeof value));
  }
  template <typename Value>
  bool get_all(std::vector<Value>& values, std::int64_t count) {
    values.resize(static_cast<std::size_t>(count));
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(Value));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(values.data()), bytes));
  }
  bool get_blocked(std::vector<Blocked>& blocked, std::int64_t count) {
    blocked.resize(static_cast<std::size_t>(count));
    for (Blocked& each : blocked) {
      BlockedHead head;
      if (!get(head) || !get_all(each.exchanges, head.exchanges)) return false;
      each.from = head.from;
      each.first_bytes = head.first_bytes;
      each.to = head.to;
    }
    return true;
  }
  std::optional<StepRecord> step(std::int64_t blocked) {
    StepHead head;
    std::vector<WorkerId> members;
    StepRecord record;
    if (!get(head) || !get_all(members, head.members) || !get_blocked(record.blocked, blocked))
      return std::nullopt;
    record.worker = head.worker;
    record.step = head.step;
    record.loss = head.loss;
    record.bytes_sent = head.bytes_sent;
    record.group = Group(std::move(members));
    record.began = head.began;
    record.ended = head.ended;
    return record;
  }

  TimelineSubject subject;

 private:
  std::ifstream file_;
};

}  // namespace

TimelineLog::TimelineLog(fs::path path, const TimelineSubject& subject) : path_(std::move(path)) {
  if (fs::exists(path_)) subject_of_log(path_);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0)
    throw UsageError(
        concat("cannot write the file '", path_.string(), "': ", system_message(errno), "."));
  block_.reserve(2 * kLogBlockBytes);
  const std::string first =
      concat(kMagic,
             to_json(subject).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "\n");
  append(std::as_bytes(std::span(first)));
}

TimelineLog::~TimelineLog() { close(); }

void TimelineLog::add(const StepRecord& record) {
  Entry entry;
  entry.put(Head{Kind::step, static_cast<std::int32_t>(record.blocked.size())});
  entry.put(StepHead{record.worker, record.group.size(), record.step, record.loss,
                     record.bytes_sent, record.began, record.ended});
  entry.put_all(record.group);
  put_blocked(entry, record.blocked);
  append(entry.bytes());
}

void TimelineLog::add_finish(WorkerId worker, std::span<const Blocked> blocked) {
  Entry entry;
  entry.put(Head{Kind::finish, static_cast<std::int32_t>(blocked.size())});
  entry.put(worker);
  put_blocked(entry, blocked);
  append(entry.bytes());
}

void TimelineLog::add(std::span<const LinkLoad> loads) {
  Entry entry;
  entry.put(Head{Kind::loads, static_cast<std::int32_t>(loads.size())});
  entry.put_all(loads);
  append(entry.bytes());
}

void TimelineLog::append(std::span<const std::byte> entry) {
  const std::scoped_lock lock(mutex_);
  if (error_ != 0) return;
  block_.insert(block_.end(), entry.begin(), entry.end());
  if (block_.size() >= kLogBlockBytes) write_block();
}

// REQUIRES: mutex_ is held.
void TimelineLog::write_block() {
  for (std::span<const std::byte> rest = block_; !rest.empty() && error_ == 0;) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written >= 0)
      rest = rest.subspan(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error_ = errno;
  }
  block_.clear();
}

void TimelineLog::require_written() const {
  if (error_ != 0)
    throw Error(concat("cannot write '", path_.string(), "': ", system_message(error_), "."));
}

void TimelineLog::close() {
  const std::scoped_lock lock(mutex_);
  if (file_ < 0) return;
  write_block();
  if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
}

TimelineSubject subject_of_log(const fs::path& log) { return Reader(log).subject; }

void draw_log(const fs::path& log, TimelineDrawing& drawing) {
  Reader reader(log);
  std::vector<Blocked> blocked;
  std::vector<LinkLoad> loads;
  for (Head head; reader.get(head);) {
    if (head.kind == Kind::step) {
      const std::optional<StepRecord> record = reader.step(head.count);
      if (!record) return;
      drawing.add(*record);
    } else if (head.kind == Kind::finish) {
      WorkerId worker;
      if (!reader.get(worker) || !reader.get_blocked(blocked, head.count)) return;
      drawing.add_finish(worker, blocked);
    } else {
      if (!reader.get_all(loads, head.count)) return;
      drawing.add(std::span<const LinkLoad>(loads));
    }
  }
}

}  // namespace huddle
