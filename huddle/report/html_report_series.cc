#include "huddle/report/html_report_series.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "huddle/core/error.h"
#include "huddle/core/text.h"

namespace huddle {
namespace {

constexpr std::size_t kFirstSteps = 16;    // Whose groups are kept.
constexpr int kMostPictured = 64;          // Workers whose groups are kept.
constexpr double kFirstSeconds = 0x1p-30;  // About a nanosecond: finer than any step.
constexpr double kLargestCount = 0x1p53;   // Up to here every whole number is a double.
constexpr std::int64_t kBytesPerCall = 1'000'000;

// What one line of steps.jsonl says, as far as a report needs it.
struct StepLine {
  double worker = -1;
  double step = -1;
  double end = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> progress;  // Steps of the run, where each worker has its own pace.
  std::vector<int> group;
};

// Takes a line apart without building it as an object, which is several times as fast. Whatever it
// does not know is passed over.
class StepLineReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Null where `text` is not a JSON object with a worker and a step.
  const StepLine* read(const std::string& text) {
    line_.worker = line_.step = -1;
    line_.end = line_.loss = std::numeric_limits<double>::quiet_NaN();
    line_.progress.reset();
    line_.group.clear();
    objects_ = 0;
    key_ = Key::other;
    const bool is_json = nlohmann::json::sax_parse(text, this);
    return is_json && is_count(line_.worker) && is_count(line_.step) ? &line_ : nullptr;
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++objects_;
    return true;
  }
  bool end_object() override {
    --objects_;
    key_ = Key::other;
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override {
    key_ = Key::other;
    return true;
  }
  bool key(string_t& name) override {
    key_ = objects_ == 1 ? key_of(name) : Key::other;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  enum class Key { other, worker, step, end, loss, progress, group };

  static Key key_of(const std::string& name) {
    if (name == "worker") return Key::worker;
    if (name == "step") return Key::step;
    if (name == "end") return Key::end;
    if (name == "loss") return Key::loss;
    if (name == "progress") return Key::progress;
    return name == "group" ? Key::group : Key::other;
  }

  static bool is_count(double value) { return value >= 0 && value <= kLargestCount; }

  bool number(double value) {
    switch (key_) {
      case Key::other: break;
      case Key::worker: line_.worker = value; break;
      case Key::step: line_.step = value; break;
      case Key::end: line_.end = value; break;
      case Key::loss: line_.loss = value; break;
      case Key::progress: line_.progress = value; break;
      case Key::group:
        if (value >= 0 && value < 1e9) line_.group.push_back(static_cast<int>(value));
        break;
    }
    return true;
  }

  StepLine line_;
  int objects_ = 0;  // How many are open.
  Key key_ = Key::other;
};

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
    if (!std::isfinite(line.loss))
      series_.diverged_step = std::min(step, series_.diverged_step.value_or(step));
    if (line.step < kFirstSteps && line.worker < kMostPictured) keep_group(line);
  }

  StepSeries finish() {
    // Stretches of time much shorter than a step would show single workers and not their mean.
    loss_by_time_.reduce_to(std::max<std::size_t>(2, 2 * static_cast<std::size_t>(series_.steps)));
    series_.loss_by_step = loss_by_step_.points();
    series_.loss_by_time = loss_by_time_.points();
    series_.end_by_step = end_by_step_.points();
    finish_groups();
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

  // Lines come in the order of time, so the different groups are told apart only at the end.
  void finish_groups() {
    for (const std::vector<std::vector<int>>& by_worker : first_groups_) {
      StepGroups& step = series_.groups.emplace_back();
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

  Thinner loss_by_step_, loss_by_time_, end_by_step_;
  std::vector<std::vector<std::vector<int>>> first_groups_;  // By step and worker.
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
  ThinPoint& sum = sums_[index];
  sum.smallest = sum.count == 0 ? value : std::min(sum.smallest, value);
  sum.largest = sum.count == 0 ? value : std::max(sum.largest, value);
  sum.position += position;
  sum.mean += value;
  ++sum.count;
}

void Thinner::halve() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const ThinPoint from = std::exchange(sums_[i], {});
    ThinPoint& to = sums_[i / 2];
    if (from.count == 0) continue;
    to.smallest = to.count == 0 ? from.smallest : std::min(to.smallest, from.smallest);
    to.largest = to.count == 0 ? from.largest : std::max(to.largest, from.largest);
    to.position += from.position;
    to.mean += from.mean;
    to.count += from.count;
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

std::optional<std::size_t> group_period(const std::vector<StepGroups>& groups) {
  for (std::size_t period = 1; 2 * period <= groups.size(); ++period)
    if (std::equal(groups.begin() + static_cast<std::ptrdiff_t>(period), groups.end(),
                   groups.begin()))
      return period;
  return std::nullopt;
}

StepSeries read_steps(const std::filesystem::path& file, std::size_t most_points,
                      const BytesRead& bytes_read) {
  std::ifstream lines(file);
  if (!lines) throw UsageError(concat("cannot read '", file.string(), "'."));
  SeriesMaker maker(most_points);
  StepLineReader reader;
  std::int64_t number = 0;
  std::int64_t unreported = 0;
  std::int64_t broken = 0;  // The number of a line that is not a step; only the last may be.
  for (std::string text; std::getline(lines, text);) {
    ++number;
    if (broken > 0)
      throw UsageError(concat("'", file.string(), "', line ", broken,
                              ": not a step of a run. Only the last line may be incomplete."));
    unreported += static_cast<std::int64_t>(text.size()) + 1;
    if (bytes_read && unreported >= kBytesPerCall) bytes_read(std::exchange(unreported, 0));
    const StepLine* line = reader.read(text);
    line != nullptr ? maker.add(*line) : void(broken = number);
  }
  if (bytes_read) bytes_read(unreported);
  StepSeries series = maker.finish();
  series.is_cut_off = broken > 0;
  return series;
}

std::vector<ThinPoint> at_times_of(const StepSeries& timed, const std::vector<ThinPoint>& values) {
  const std::vector<ThinPoint>& ends = timed.end_by_step;
  std::vector<ThinPoint> points;
  for (ThinPoint point : values) {
    const auto after = std::lower_bound(
        ends.begin(), ends.end(), point.position,
        [](const ThinPoint& end, double position) { return end.position < position; });
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
    if (std::filesystem::is_regular_file(file) && series_.try_emplace(file).second)
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
