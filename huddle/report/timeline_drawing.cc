#include "huddle/report/timeline_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr int kWorkers = 1;  // The processes of the trace.
constexpr int kLinks = 2;

// Thread numbers that each worker has: its own track, and one for each exchange in flight at once.
constexpr int kTracksPerWorker = 1000;

// How much of a long group a name shows.
constexpr std::size_t kGroupLetters = 32;

// More than most records come to.
constexpr std::size_t kRecordBytes = 1000;

// After so many changes on links (some 20 MB) the same number covers twice the time, and so on: a
// long run's file stays of a size that viewers can show.
constexpr std::int64_t kLoadsDrawnAlike = 200'000;

Track track_of(WorkerId worker) { return {kWorkers, (worker.value + 1) * kTracksPerWorker}; }

// "0-3,8".
std::string runs_of(const Group& group) {
  std::string text;
  for (int first = 0, next = 0; first < group.size(); first = next) {
    for (next = first + 1;
         next < group.size() && group[next].value == group[first].value + (next - first);)
      ++next;
    if (first > 0) text += ',';
    append_number(text, group[first].value);
    if (next - first == 1) continue;
    text += '-';
    append_number(text, group[next - 1].value);
  }
  return text;
}

// a, b, ... z, ba, bb, ...
std::string letters_of(WorkerId worker) {
  std::string letters;
  for (int rest = worker.value; letters.empty() || rest > 0; rest /= 26)
    letters.insert(letters.begin(), static_cast<char>('a' + rest % 26));
  return letters;
}

EventText first_events(const TimelineSubject& subject) {
  EventText events;
  append_process_name(events, kWorkers, "workers");
  if (!subject.links.empty()) append_process_name(events, kLinks, "links");
  for (int worker = 0; worker < subject.workers; ++worker)
    append_thread_name(events, track_of(WorkerId{worker}), concat("worker ", worker));
  return events;
}

std::string about(const TimelineSubject& subject) {
  const nlohmann::ordered_json object = {
      {"program", concat("huddle ", subject.version)},
      {"strategy", subject.strategy},
      {"engine", subject.engine},
      {"workers", subject.workers},
      {"time", subject.is_virtual ? "virtual: the clock of the simulated cluster" : "real"},
      {"links", !subject.links.empty() ? "bytes per second on every link"
                : subject.is_virtual   ? "none: every link of this cluster is unlimited"
                                       : "none: this engine does not tell them"}};
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::int64_t bytes_of(const Blocked& blocked) {
  std::int64_t bytes = 0;
  for (const Exchange& exchange : blocked.exchanges) bytes += exchange.bytes_sent;
  return bytes;
}

// "exchange a: 0-3".
std::string of_group(std::string_view what, const std::string& group) {
  std::string name(what);
  if (!group.empty()) name.append(" ").append(group);
  return name;
}

std::string bytes_argument(std::int64_t bytes) {
  std::string text = "\"bytes\":";
  append_number(text, bytes);
  return text;
}

std::string arguments_of(const StepRecord& record) {
  std::string text = bytes_argument(record.bytes_sent);
  text += ",\"step\":";
  append_number(text, record.step.value);
  text += ",\"loss\":";
  // As precise as a loss is, and no longer.
  text += std::isfinite(record.loss) ? fmt::format("{}", static_cast<float>(record.loss)) : "null";
  text.append(",\"group\":\"").append(runs_of(record.group)) += '"';
  return text;
}

}  // namespace

std::string group_name(const Group& group) {
  if (group.size() < 2) return {};
  std::string runs = runs_of(group);
  if (runs.size() > kGroupLetters)
    runs = fmt::format("{},... ({})", runs.substr(0, runs.rfind(',', kGroupLetters)), group.size());
  return letters_of(group[0]).append(": ").append(runs);
}

TimelineDrawing::TimelineDrawing(std::filesystem::path path, const TimelineSubject& subject)
    : lanes_(static_cast<std::size_t>(subject.workers)),
      writer_(std::move(path), first_events(subject), about(subject)) {
  for (const std::string& name : subject.links)
    links_.push_back({.counter = counter_prefix(kLinks, name)});
}

void TimelineDrawing::add(const StepRecord& record) {
  const Interval whole{nanoseconds(record.began), nanoseconds(record.ended)};
  EventText events;
  events.reserve(kRecordBytes);
  std::string name = "step ";
  append_number(name, record.step.value);
  append_slice(events, track_of(record.worker), whole, name, arguments_of(record));
  draw_blocked(events, record.worker, record.blocked, record.group, whole, Between::compute);
  writer_.append(events);
  writer_.require_written();
}

void TimelineDrawing::add_finish(WorkerId worker, std::span<const Blocked> blocked) {
  if (blocked.empty()) return;
  const Interval whole{nanoseconds(blocked.front().from), nanoseconds(blocked.back().to)};
  EventText events;
  append_slice(events, track_of(worker), whole, "finish");
  draw_blocked(events, worker, blocked, {}, whole, Between::nothing);
  writer_.append(events);
  writer_.require_written();
}

void TimelineDrawing::add(std::span<const LinkLoad> loads) {
  EventText events;
  for (const LinkLoad& load : loads) {
    Link& link = links_[static_cast<std::size_t>(load.link)];
    const Seconds lasted = load.to - load.from;
    if (lasted >= finest_) draw_load(events, link);  // It does not blur with what came before it.
    link.bytes += load.bytes_per_second * lasted;
    link.known_until = load.to;
    if (link.known_until - link.drawn_until >= finest_) draw_load(events, link);
  }
  if (loads_drawn_ >= kLoadsDrawnAlike && !loads.empty()) thin_out(loads.back().to);
  writer_.append(events);
}

void TimelineDrawing::close() {
  EventText events;
  for (Link& link : links_) {
    draw_load(events, link);
    if (std::exchange(link.bytes_per_second, 0) != 0)
      append_counter(events, link.counter, nanoseconds(link.known_until), 0);
  }
  writer_.append(events);
  writer_.close();
}

// What the link carried, on average, since it was last drawn.
void TimelineDrawing::draw_load(EventText& events, Link& link) {
  const Nanoseconds from = nanoseconds(link.drawn_until);
  if (nanoseconds(link.known_until) <= from) return;  // Too short to be seen; it counts later.
  const std::int64_t bytes_per_second =
      std::llround(link.bytes / (link.known_until - link.drawn_until));
  link.drawn_until = link.known_until;
  link.bytes = 0;
  if (bytes_per_second == link.bytes_per_second) return;
  link.bytes_per_second = bytes_per_second;
  append_counter(events, link.counter, from, bytes_per_second);
  ++loads_drawn_;
}

// From now on about half as many loads are drawn in the same time.
void TimelineDrawing::thin_out(Time now) {
  const Seconds each = (now - finest_since_) * static_cast<double>(links_.size()) /
                       static_cast<double>(loads_drawn_);
  finest_ = 2 * std::max(finest_, each);
  finest_since_ = now;
  loads_drawn_ = 0;
}

// Cuts `whole` into what the worker did: stretches in which it stood still, and what lies between.
void TimelineDrawing::draw_blocked(EventText& events, WorkerId worker,
                                   std::span<const Blocked> blocked, const Group& group,
                                   Interval whole, Between between) {
  const std::string name = group_name(group);
  const std::string exchange = of_group("exchange", name);
  Nanoseconds drawn = whole.begin;
  const auto draw_until = [&](Nanoseconds time, std::string_view what,
                              std::string_view arguments = {}) {
    const Nanoseconds end = std::clamp(time, drawn, whole.end);
    if (end > drawn && !what.empty())
      append_slice(events, track_of(worker), {drawn, end}, what, arguments);
    drawn = end;
  };
  const std::string_view beside = between == Between::compute ? "compute" : "";
  for (const Blocked& each : blocked) {
    draw_until(nanoseconds(each.from), beside);
    draw_until(nanoseconds(each.first_bytes), "wait");
    draw_until(nanoseconds(each.to), exchange, bytes_argument(bytes_of(each)));
    draw_in_flight(events, worker, each, name);
  }
  draw_until(whole.end, beside);
}

// Draws the exchanges that were under way before the worker waited for them.
void TimelineDrawing::draw_in_flight(EventText& events, WorkerId worker, const Blocked& blocked,
                                     const std::string& group) {
  for (const Exchange& exchange : blocked.exchanges) {
    const Interval interval{nanoseconds(exchange.begin), nanoseconds(exchange.end)};
    if (exchange.begin >= blocked.from || interval.end <= interval.begin) continue;
    append_slice(events, lane_for(events, worker, interval), interval, of_group("in flight", group),
                 bytes_argument(exchange.bytes_sent));
  }
}

// The first track that is free, so that slices which overlap lie on different ones.
Track TimelineDrawing::lane_for(EventText& events, WorkerId worker, Interval interval) {
  Lanes& lanes = lanes_[static_cast<std::size_t>(worker.value)];
  const auto lane =
      std::ranges::find_if(lanes, [&](Nanoseconds end) { return end <= interval.begin; });
  Track track = track_of(worker);
  track.thread += 1 + static_cast<int>(lane - lanes.begin());
  if (lane == lanes.end()) {
    append_thread_name(events, track, concat("worker ", worker.value, " in flight"));
    lanes.push_back(interval.end);
  } else {
    *lane = interval.end;
  }
  return track;
}

}  // namespace huddle
