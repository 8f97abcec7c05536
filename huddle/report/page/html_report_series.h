// What a report shows of a run's steps.jsonl: curves of a few hundred points, and who averaged with
// whom at first.
//
// The file is long, so it is thinned while it is read. Thinning is honest: equal stretches of the
// axis become one point each, with the mean of everything inside and its smallest and largest
// value, so that no spike is lost and nothing is picked by hand. Memory does not grow with the
// length of the file.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "huddle/report/step_lines.h"

namespace huddle {

// All values whose positions fell into one stretch of the axis.
struct ThinPoint {
  double position = 0;  // Mean.
  double mean = 0;
  double smallest = 0;
  double largest = 0;
  std::int64_t count = 0;
};

// Values along an axis that begins at 0 and whose end is not known in advance. Stretches double in
// width whenever there would be too many, so two curves of equal length are cut at equal places.
class Thinner {
 public:
  // The first stretches are `width` wide. REQUIRES: most_points >= 2, width > 0.
  Thinner(std::size_t most_points, double width);

  // Values come in any order. One at a negative or not finite position, or not finite itself, is
  // left out.
  void add(double position, double value);

  // Joins neighbours until there are at most `most_points` stretches. REQUIRES: most_points >= 2.
  void reduce_to(std::size_t most_points);

  // Every stretch with a value in it, from left to right.
  std::vector<ThinPoint> points() const;

 private:
  void halve();

  std::size_t most_points_;
  double width_;
  std::vector<ThinPoint> sums_;  // Of positions and values, until points() divides by the counts.
};

// Who averaged with whom: a row of the picture. It is a step, where all workers take each step
// together, or else a single meeting: at one step of their own, workers of different pace meet
// others than those who are at that step too.
struct GroupsRow {
  std::vector<std::vector<int>> groups;  // The different ones, by first appearance along workers.
  std::vector<int> group_of;             // By worker, an index into `groups`; -1: not in this row.
  std::optional<double> end;             // Of a meeting: the second when its last member was done.

  bool operator==(const GroupsRow&) const = default;
};

struct StepSeries {
  std::vector<ThinPoint> loss_by_step;  // Positions count steps done, from 1.
  std::vector<ThinPoint> loss_by_time;  // Positions are seconds.
  // The mean second at which the steps of each point of loss_by_step ended, at the same places.
  std::vector<ThinPoint> end_by_step;
  std::vector<GroupsRow> groups;  // The first ones, or one period where steps repeat.
  bool groups_repeat = false;
  std::int64_t lines = 0;
  std::int64_t steps = 0;                     // The most steps of any worker.
  std::optional<std::int64_t> diverged_step;  // The first whose loss is not a finite number.
  bool is_cut_off = false;                    // The last line was not whole.
};

// Throws as read_step_lines does. REQUIRES: most_points >= 2.
StepSeries read_steps(const std::filesystem::path& file, std::size_t most_points,
                      const BytesRead& bytes_read = {});

// The values of one run, which are at numbers of steps, at the seconds when `timed` had made as
// many; without those that it never made. For a strategy whose values do not depend on time.
std::vector<ThinPoint> at_times_of(const StepSeries& timed, const std::vector<ThinPoint>& values);

// The least number of steps after which `groups` begin again, if they do so at least once.
std::optional<std::size_t> group_period(const std::vector<GroupsRow>& groups);

// Called while files are read, with the bytes done and the bytes there are.
using ReadingProgress = std::function<void(std::int64_t done, std::int64_t all)>;

// Several step files, each read once, when it is first asked for.
class StepFiles {
 public:
  // Files that do not exist, or are named twice, do not count.
  StepFiles(const std::vector<std::filesystem::path>& files, std::size_t most_points,
            ReadingProgress progress);

  // Null where there is no such file. Borrowed from this object. Throws as read_steps does.
  const StepSeries* series_of(const std::filesystem::path& file);

 private:
  const std::size_t most_points_;
  const ReadingProgress progress_;
  std::map<std::filesystem::path, std::optional<StepSeries>> series_;
  std::int64_t bytes_done_ = 0;
  std::int64_t bytes_all_ = 0;
};

}  // namespace huddle
