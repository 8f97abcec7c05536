#include "huddle/report/page/html_report_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr std::size_t kMostRows = 16;      // Steps whose groups are kept, or meetings.
constexpr int kMostPictured = 64;          // Workers whose groups are kept.
constexpr double kFirstSeconds = 0x1p-30;  // About a nanosecond: finer than any step.

void add_up(ThinPoint& sum, const ThinPoint& more) {
  if (more.count == 0) return;
  sum.smallest = sum.count == 0 ? more.smallest : std::min(sum.smallest, more.smallest);
  sum.largest = sum.count == 0 ? more.largest : std::max(sum.largest, more.largest);
  sum.position += more.position;
  sum.mean += more.mean;
  sum.count += more.count;
}

// Adds up the lines of one file.
class SeriesMaker {
 public:
  explicit SeriesMaker(std::size_t most_points)
      : loss_by_step_(most_points, 1),
        loss_by_time_(most_points, kFirstSeconds),
        end_by_step_(most_points, 1) {}

  void add(const StepLine& line) {
    ++series_.lines;
    const double done = line.progress.value_or(line.step + 1);
    series_.steps = std::max(series_.steps, static_cast<std::int64_t>(done));
    loss_by_step_.add(done, line.loss);
    loss_by_time_.add(line.end, line.loss);
    end_by_step_.add(done, line.end);
    const auto step = static_cast<std::int64_t>(line.step);
    most_workers_ =
        std::max(most_workers_, static_cast<int>(std::min<double>(line.worker + 1, kMostPictured)));
    if (!std::isfinite(line.loss))
      series_.diverged_step = std::min(step, series_.diverged_step.value_or(step));
    if (line.meeting)
      keep_meeting(line);
    else if (line.step < kMostRows && line.worker < kMostPictured)
      keep_group(line);
  }

  StepSeries finish() {
    // Stretches of time much shorter than a step would show single workers and not their mean.
    loss_by_time_.reduce_to(std::max<std::size_t>(2, 2 * static_cast<std::size_t>(series_.steps)));
    series_.loss_by_step = loss_by_step_.points();
    series_.loss_by_time = loss_by_time_.points();
    series_.end_by_step = end_by_step_.points();
    if (meetings_.empty())
      finish_steps();
    else
      finish_meetings();
    return std::move(series_);
  }

 private:
  void keep_group(const StepLine& line) {
    const auto step = static_cast<std::size_t>(line.step);
    const auto worker = static_cast<std::size_t>(line.worker);
    if (first_groups_.size() <= step) first_groups_.resize(step + 1);
    if (first_groups_[step].size() <= worker) first_groups_[step].resize(worker + 1);
    first_groups_[step][worker] = line.group;
  }

  // One line says who met; those of the other members may say when the last of them was done. Lines
  // come in the order of time, so that the first meetings are those met first here.
  void keep_meeting(const StepLine& line) {
    const bool is_pictured =
        std::ranges::any_of(line.group, [](int worker) { return worker < kMostPictured; });
    const auto found = meetings_.find(*line.meeting);
    if (found != meetings_.end())
      found->second.end = std::max(found->second.end, std::optional(line.end));
    else if (is_pictured && meetings_.size() < kMostRows)
      meetings_[*line.meeting] = {.groups = {line.group}, .group_of = {}, .end = line.end};
  }

  // Lines come in the order of time, so the different groups are told apart only at the end.
  void finish_steps() {
    for (const std::vector<std::vector<int>>& by_worker : first_groups_) {
      GroupsRow& step = series_.groups.emplace_back();
      std::map<std::vector<int>, int> known;
      for (const std::vector<int>& group : by_worker) {
        const auto [place, is_new] = known.emplace(group, static_cast<int>(step.groups.size()));
        if (is_new && !group.empty()) step.groups.push_back(group);
        step.group_of.push_back(group.empty() ? -1 : place->second);
      }
    }
    const std::optional<std::size_t> period = group_period(series_.groups);
    series_.groups_repeat = period.has_value();
    if (period) series_.groups.resize(*period);
  }

  void finish_meetings() {
    for (const auto& [meeting, row] : meetings_) series_.groups.push_back(row);
    std::ranges::stable_sort(series_.groups, {}, &GroupsRow::end);
    for (GroupsRow& row : series_.groups) {
      row.group_of.assign(static_cast<std::size_t>(most_workers_), -1);
      for (const int worker : row.groups.front())
        if (worker < most_workers_) row.group_of[static_cast<std::size_t>(worker)] = 0;
    }
  }

  Thinner loss_by_step_, loss_by_time_, end_by_step_;
  std::vector<std::vector<std::vector<int>>> first_groups_;  // By step and worker.
  std::map<double, GroupsRow> meetings_;                     // By their number.
  int most_workers_ = 0;                                     // That are pictured.
  StepSeries series_;
};

}  // namespace

Thinner::Thinner(std::size_t most_points, double width) : most_points_(most_points), width_(width) {
  check(most_points >= 2 && width > 0, "nothing can be thinned to this");
}

void Thinner::add(double position, double value) {
  if (!(position >= 0) || !std::isfinite(position) || !std::isfinite(value)) return;
  while (position / width_ >= static_cast<double>(most_points_)) halve();
  const auto index = static_cast<std::size_t>(position / width_);
  if (sums_.size() <= index) sums_.resize(index + 1);
  add_up(sums_[index], {position, value, value, value, 1});
}

void Thinner::halve() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const ThinPoint from = std::exchange(sums_[i], {});
    add_up(sums_[i / 2], from);
  }
  sums_.resize((sums_.size() + 1) / 2);
  width_ *= 2;
}

void Thinner::reduce_to(std::size_t most_points) {
  check(most_points >= 2, "nothing can be thinned to this");
  while (sums_.size() > most_points) halve();
}

std::vector<ThinPoint> Thinner::points() const {
  std::vector<ThinPoint> points;
  for (ThinPoint point : sums_) {
    if (point.count == 0) continue;
    point.position /= static_cast<double>(point.count);
    point.mean /= static_cast<double>(point.count);
    points.push_back(point);
  }
  return points;
}

std::optional<std::size_t> group_period(const std::vector<GroupsRow>& groups) {
  for (std::size_t period = 1; 2 * period <= groups.size(); ++period)
    if (std::equal(groups.begin() + static_cast<std::ptrdiff_t>(period), groups.end(),
                   groups.begin()))
      return period;
  return std::nullopt;
}

StepSeries read_steps(const std::filesystem::path& file, std::size_t most_points,
                      const BytesRead& bytes_read) {
  SeriesMaker maker(most_points);
  const LastLine last = read_step_lines(
      file, [&](const StepLine& line) { maker.add(line); }, bytes_read);
  StepSeries series = maker.finish();
  series.is_cut_off = last == LastLine::cut_off;
  return series;
}

std::vector<ThinPoint> at_times_of(const StepSeries& timed, const std::vector<ThinPoint>& values) {
  const std::vector<ThinPoint>& ends = timed.end_by_step;
  std::vector<ThinPoint> points;
  for (ThinPoint point : values) {
    const auto after = std::ranges::lower_bound(ends, point.position, {}, &ThinPoint::position);
    if (after == ends.end()) break;
    // Between two points steps take equally long; before the first, the run began at second 0.
    const ThinPoint before = after == ends.begin() ? ThinPoint{} : *std::prev(after);
    const double share = (point.position - before.position) / (after->position - before.position);
    point.position = before.mean + share * (after->mean - before.mean);
    points.push_back(point);
  }
  return points;
}

StepFiles::StepFiles(const std::vector<std::filesystem::path>& files, std::size_t most_points,
                     ReadingProgress progress)
    : most_points_(most_points), progress_(std::move(progress)) {
  for (const std::filesystem::path& file : files)
    if (std::filesystem::exists(file) && series_.try_emplace(file).second &&
        std::filesystem::is_regular_file(file))  // What is none is refused when it is read.
      bytes_all_ += static_cast<std::int64_t>(std::filesystem::file_size(file));
}

const StepSeries* StepFiles::series_of(const std::filesystem::path& file) {
  const auto place = series_.find(file);
  if (place == series_.end()) return nullptr;
  if (!place->second)
    place->second = read_steps(file, most_points_, [this](std::int64_t bytes) {
      bytes_done_ += bytes;
      if (progress_) progress_(bytes_done_, bytes_all_);
    });
  return &*place->second;
}

}  // namespace huddle
