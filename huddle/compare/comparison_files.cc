#include "huddle/compare/comparison_files.h"

#include <algorithm>

#include "huddle/base/read_file.h"
#include "huddle/compare/answer.h"
#include "huddle/compare/result_fields.h"
#include "huddle/report/format.h"
#include "huddle/report/step_lines.h"

namespace huddle {

std::optional<RunOutcome> read_outcome(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "summary.json";
  if (!std::filesystem::is_regular_file(path)) return {};
  const Json summary = Json::parse(read_file(path, kMostResultBytes), nullptr, false);
  if (!summary.is_object() || summary.empty()) return {};
  ComparedRun run;
  read_into(summary, run);
  SummaryFile file;
  read_into(summary, file);
  if (!summary.contains("steps_taken"))  // Older files do not have it.
    file.summary.steps_taken = file.summary.steps_done * file.summary.workers;
  if (run.outcome.seconds) run.outcome.step_seconds = seconds_per_step(file.summary);
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
