#include "huddle/compare/comparison_files.h"

#include <algorithm>

#include "huddle/base/read_file.h"
#include "huddle/compare/answer.h"
#include "huddle/compare/result_fields.h"
#include "huddle/report/format.h"
#include "huddle/report/step_lines.h"

namespace huddle {
namespace {

Json object_in(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return {};
  Json json = Json::parse(read_file(path, kMostResultBytes), nullptr, false);
  return json.is_object() ? json : Json();
}

std::optional<double> number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

std::optional<Seconds> step_seconds(const Json& summary) {
  const double workers = number(summary, "workers").value_or(0);
  const double taken =
      number(summary, "steps_taken").value_or(number(summary, "steps_done").value_or(0) * workers);
  const auto seconds = number(summary, "seconds");
  if (!seconds) return std::nullopt;
  return seconds_per_step({.seconds = *seconds, .steps_taken = taken, .workers = workers});
}

}  // namespace

std::optional<RunOutcome> read_outcome(const std::filesystem::path& folder) {
  const Json summary = object_in(folder / "summary.json");
  if (summary.empty()) return {};
  ComparedRun run;
  read_into(summary, run);
  run.outcome.step_seconds = step_seconds(summary);
  read_into(summary.value("steps_by_worker", Json()), run.outcome.steps_by_worker);
  return run.outcome;
}

std::vector<Time> read_step_ends(const std::filesystem::path& folder) {
  std::vector<Time> ends;
  read_step_lines(folder / "steps.jsonl", [&](const StepLine& line) {
    const auto step = static_cast<std::size_t>(line.step);
    if (step >= ends.size()) ends.resize(step + 1, 0);
    ends[step] = std::max(ends[step], line.end);
  });
  return ends;
}

double read_bytes_sent(const std::filesystem::path& folder, Time time) {
  double bytes = 0;
  double workers = 0;
  read_step_lines(folder / "steps.jsonl", [&](const StepLine& line) {
    workers = std::max(workers, line.worker + 1);
    if (line.end <= time) bytes += line.bytes_sent;
  });
  return workers > 0 ? bytes / workers : 0;
}

std::string results_json(const Comparison& comparison, const WallClock& wall,
                         const std::string& version) {
  const Results all{
      .version = version, .comparison = comparison, .answer = answer_of(comparison), .wall = wall};
  // A reason for failure may quote bytes that are not UTF-8.
  return written(all).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace huddle
