// Draws a timeline: a trace for Perfetto or chrome://tracing, of what each worker did, what
// travelled beside its computation, and how busy each link was. docs/timeline.md tells what is
// drawn.
//
// Drawing takes more time than much of what it draws, so it comes after the run: timeline.h.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "huddle/cluster/link_load.h"
#include "huddle/record/record.h"
#include "huddle/report/trace_writer.h"

namespace huddle {

// What a timeline is of.
struct TimelineSubject {
  std::string strategy;
  std::string engine;
  std::string version;
  int workers = 1;
  bool is_virtual = false;         // The time of a simulation.
  std::vector<std::string> links;  // Of the simulated network, by number.
};

// How a group is written: runs of workers, after a word that no other group of the same moment has
// ("a: 0-3,8": the letter of its first worker). Viewers choose colours by the letters of a name
// alone, so every group of a moment has a colour of its own. A group of one has no name.
std::string group_name(const Group& group);

class TimelineDrawing {
 public:
  // Begins the file. Throws UsageError where it cannot be written.
  TimelineDrawing(std::filesystem::path path, const TimelineSubject& subject);

  // Draws a step; the records of one worker come in order. Throws Error when events could not be
  // written (a full disk). REQUIRES: not closed, like the next two.
  void add(const StepRecord& record);

  // Draws what a worker waited for after its last step; likewise.
  void add_finish(WorkerId worker, std::span<const Blocked> blocked);

  // Draws what links carried, each link's loads in the order of time; likewise.
  void add(std::span<const LinkLoad> loads);

  // Completes the file. Later calls do nothing. Throws Error when something could not be written.
  void close();

 private:
  // The tracks of one worker's exchanges in flight: until when each is taken.
  using Lanes = std::vector<Nanoseconds>;

  struct Link {
    std::string counter;                // See counter_prefix.
    std::int64_t bytes_per_second = 0;  // As drawn.
    Time drawn_until = 0;
    Time known_until = 0;
    double bytes = 0;  // Between the two.
  };

  // What a worker does while it does not stand still.
  enum class Between { compute, nothing };

  void draw_blocked(EventText& events, WorkerId worker, std::span<const Blocked> blocked,
                    const Group& group, Interval whole, Between between);
  void draw_in_flight(EventText& events, WorkerId worker, const Blocked& blocked,
                      const std::string& group);
  Track lane_for(EventText& events, WorkerId worker, Interval interval);
  void draw_load(EventText& events, Link& link);
  void thin_out(Time now);

  std::vector<Lanes> lanes_;  // By worker.

  std::vector<Link> links_;       // By number.
  Seconds finest_ = 0;            // Loads that are shorter are drawn together.
  std::int64_t loads_drawn_ = 0;  // Since `finest_` was set.
  Time finest_since_ = 0;

  TraceWriter writer_;
};

}  // namespace huddle
