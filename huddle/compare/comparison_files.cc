#include "huddle/compare/comparison_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "huddle/base/read_file.h"
#include "huddle/compare/answer.h"
#include "huddle/report/format.h"
#include "huddle/report/step_lines.h"

namespace huddle {
namespace {

using Json = nlohmann::ordered_json;

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

// What was not finite when it was written is null, and no number again.
double number_or_nan(const Json& object, const char* key) {
  return number(object, key).value_or(std::numeric_limits<double>::quiet_NaN());
}

Json list(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : Json::array();
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Figures figures(const Json& summary, const char* key) {
  Figures figures;
  const auto found = summary.find(key);
  if (found != summary.end() && found->is_object())
    for (const auto& [name, value] : found->items()) figures[name] = number(*found, name.c_str());
  return figures;
}

std::vector<std::string> texts(const Json& summary, const char* key) {
  std::vector<std::string> texts;
  for (const Json& item : list(summary, key))
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

std::optional<Seconds> step_seconds(const Json& summary) {
  const double workers = number(summary, "workers").value_or(0);
  const double taken =
      number(summary, "steps_taken").value_or(number(summary, "steps_done").value_or(0) * workers);
  const auto seconds = number(summary, "seconds");
  if (!seconds) return std::nullopt;
  return seconds_per_step({.seconds = *seconds, .steps_taken = taken, .workers = workers});
}

void read_lists(const Json& summary, RunOutcome& outcome) {
  for (const Json& time : list(summary, "time"))
    outcome.time.push_back({.compute = number_or_nan(time, "compute"),
                            .wait = number_or_nan(time, "wait"),
                            .exchange = number_or_nan(time, "exchange"),
                            .hidden = number_or_nan(time, "hidden")});
  for (const Json& steps : list(summary, "steps_by_worker"))
    if (steps.is_number()) outcome.steps_by_worker.push_back(steps.get<double>());
  for (const Json& link : list(summary, "links"))
    outcome.links.push_back({.name = text(link, "name"),
                             .bytes = number_or_nan(link, "bytes"),
                             .busy = number_or_nan(link, "busy"),
                             .full = number_or_nan(link, "full"),
                             .bytes_per_second = number_or_nan(link, "bytes_per_second")});
  for (const Json& point : list(summary, "curve"))
    outcome.curve.push_back(
        {.progress = number_or_nan(point, "progress"),
         .time = number_or_nan(point, "time"),
         .consensus = {.loss = number_or_nan(point, "loss"), .accuracy = number(point, "accuracy")},
         .drift = number_or_nan(point, "drift")});
}

template <typename Kind>
Json or_null(const std::optional<Kind>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"mean", spread->mean}, {"spread", spread->deviation}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json figures_json(const Figures& figures) {
  Json json = Json::object();
  for (const auto& [name, value] : figures) json[name] = or_null(value);
  return json;
}

Json or_null(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"low", estimate->low}, {"high", estimate->high}};
}

Json target_json(const std::optional<Target>& target) {
  if (!target) return nullptr;
  if (!target->baseline.empty())
    return {{"baseline", target->baseline}, {"points_below", 100 * target->below}};
  return {{target->of == Target::Of::loss ? "loss" : "accuracy", target->value}};
}

Json consensus_json(const std::optional<ConsensusCost>& cost) {
  if (!cost) return nullptr;
  return {{"seconds", cost->seconds}, {"bytes_per_worker", cost->bytes_per_worker}};
}

Json lists_json(const RunOutcome& outcome) {
  Json time = Json::array();
  for (const TimeSplit& split : outcome.time)
    time.push_back({{"worker", time.size()},
                    {"compute", split.compute},
                    {"wait", split.wait},
                    {"exchange", split.exchange},
                    {"hidden", split.hidden}});
  Json links = Json::array();
  for (const LinkUse& link : outcome.links)
    links.push_back({{"name", link.name},
                     {"bytes", link.bytes},
                     {"busy", link.busy},
                     {"full", link.full},
                     {"bytes_per_second", link.bytes_per_second}});
  Json curve = Json::array();
  for (const CurvePoint& point : outcome.curve)
    curve.push_back({{"progress", point.progress},
                     {"time", point.time},
                     {"loss", point.consensus.loss},
                     {"accuracy", or_null(point.consensus.accuracy)},
                     {"drift", point.drift}});
  Json bottleneck = nullptr;
  if (const auto link = bottleneck_of(outcome))
    bottleneck = {{"name", link->link.name}, {"load", link->load}};
  return {{"time", time}, {"links", links}, {"bottleneck", bottleneck}, {"curve", curve}};
}

Json run_json(const ComparedRun& run) {
  const RunOutcome& outcome = run.outcome;
  const std::optional<Reached>& reached = run.reached;
  Json json = {{"id", run.id},
               {"case", run.case_name},
               {"label", run.label},
               {"strategy", run.strategy},
               {"seed", run.seed},
               {"status", outcome.status},
               {"trained_in", text_or_null(run.trained_in)},
               {"timed_in", text_or_null(run.timed_in)},
               {"command", run.command},
               {"seconds", or_null(outcome.seconds)},
               {"step_seconds", or_null(outcome.step_seconds)},
               {"target", target_json(run.target)},
               {"time_to_target", reached ? Json(reached->time) : Json(nullptr)},
               {"steps_to_target", reached ? Json(reached->progress) : Json(nullptr)},
               {"bytes_to_target", reached ? Json(reached->bytes_per_worker) : Json(nullptr)},
               {"forms_at_target", reached ? Json(reached->must_form) : Json(nullptr)},
               {"accuracy", figures_json(outcome.accuracy)},
               {"test_loss", figures_json(outcome.test_loss)},
               {"loss", or_null(outcome.loss)},
               {"drift", or_null(outcome.drift)},
               {"bytes_sent_per_worker", or_null(outcome.bytes_sent_per_worker)}};
  json.update(lists_json(outcome));
  json["figures"] = outcome.figures;
  json["warnings"] = outcome.warnings;
  json["lost"] = outcome.lost;
  return json;
}

Json row_json(const ComparedRow& row) {
  Json baselines = Json::array();
  for (const Speedup& speedup : row.speedups)
    baselines.push_back({{"name", speedup.name},
                         {"label", text_or_null(speedup.label)},
                         {"speedup", or_null(speedup.of_step)},
                         {"speedup_interval", or_null(speedup.of_step_estimate)},
                         {"target_label", text_or_null(speedup.target_label)},
                         {"speedup_to_target", or_null(speedup.to_target)},
                         {"speedup_to_target_interval", or_null(speedup.to_target_estimate)},
                         {"points", or_null(speedup.points)},
                         {"points_interval", or_null(speedup.points_estimate)}});
  return {{"case", row.case_name},
          {"label", row.label},
          {"strategy", row.strategy},
          {"status", row.status},
          {"seeds", row.seeds},
          {"workload", row.workload},
          {"carries", row.carries},
          {"baselines", baselines},
          {"step_seconds", or_null(row.step_seconds)},
          {"time_to_target", or_null(row.time_to_target)},
          {"reached", row.reached},
          {"bytes_to_target", or_null(row.bytes_to_target)},
          {"forms_at_target", row.forms_at_target},
          {"tuned", row.tuned},
          {"accuracy_consensus", or_null(row.accuracy_consensus)},
          {"accuracy_worker_mean", or_null(row.accuracy_worker_mean)},
          {"accuracy_swa", or_null(row.accuracy_swa)},
          {"loss_consensus", or_null(row.loss_consensus)},
          {"drift", or_null(row.drift)},
          {"bytes_sent_per_worker", or_null(row.bytes_sent_per_worker)},
          {"wait", or_null(row.wait)},
          {"exchange", or_null(row.exchange)},
          {"hidden", or_null(row.hidden)},
          {"bottleneck", text_or_null(row.bottleneck)}};
}

Json answer_json(const ComparisonAnswer& answer) {
  Json cases = Json::array();
  for (const CaseAnswer& one : answer.cases)
    cases.push_back({{"case", one.case_name},
                     {"winner", text_or_null(one.winner)},
                     {"result", one.result},
                     {"why", one.why}});
  return {{"headline", answer.headline}, {"measure", answer.measure}, {"cases", cases}};
}

Json trainings_json(const std::vector<Training>& trainings) {
  Json json = Json::array();
  for (const Training& training : trainings)
    json.push_back({{"id", training.id},
                    {"strategy", training.strategy},
                    {"seed", training.seed},
                    {"status", training.status},
                    {"command", training.command}});
  return json;
}

Json tunings_json(const std::vector<Tuning>& tunings) {
  Json json = Json::array();
  for (const Tuning& tuning : tunings)
    json.push_back({{"id", tuning.id},
                    {"case", tuning.case_name},
                    {"label", tuning.label},
                    {"value", tuning.value},
                    {"status", tuning.status},
                    {"accuracy", or_null(tuning.accuracy)},
                    {"loss", or_null(tuning.loss)},
                    {"is_best", tuning.is_best},
                    {"command", tuning.command}});
  return json;
}

}  // namespace

std::optional<RunOutcome> read_outcome(const std::filesystem::path& folder) {
  const Json summary = object_in(folder / "summary.json");
  if (summary.empty()) return {};
  RunOutcome outcome{.status = text(summary, "status"),
                     .seconds = number(summary, "seconds"),
                     .step_seconds = step_seconds(summary),
                     .loss = number(summary, "loss"),
                     .accuracy = figures(summary, "accuracy"),
                     .test_loss = figures(summary, "test_loss"),
                     .drift = number(summary, "drift"),
                     .bytes_sent_per_worker = number(summary, "bytes_sent_per_worker"),
                     .warnings = texts(summary, "warnings"),
                     .lost = texts(summary, "lost")};
  read_lists(summary, outcome);
  for (const auto& [name, value] : figures(summary, "figures"))
    if (value) outcome.figures[name] = *value;
  return outcome;
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
  Json cases = Json::array();
  for (const Comparison::Case& one : comparison.cases)
    cases.push_back({{"name", one.name},
                     {"text", one.text},
                     {"cluster", one.cluster},
                     {"target", target_json(one.target)},
                     {"consensus", consensus_json(one.consensus)}});
  Json runs = Json::array();
  for (const ComparedRun& run : comparison.runs) runs.push_back(run_json(run));
  Json table = Json::array();
  for (const ComparedRow& row : comparison.table) table.push_back(row_json(row));
  Json expectations = Json::array();
  for (const Verdict& verdict : comparison.verdicts)
    expectations.push_back({{"text", verdict.text}, {"holds", verdict.holds}});
  const Json all = {
      {"format", 1},
      {"version", version},
      {"scenario",
       {{"name", comparison.name},
        {"title", comparison.title},
        {"text", comparison.text},
        {"claim", comparison.claim},
        {"assumptions", comparison.assumptions},
        {"target", target_json(comparison.target)},
        {"source", comparison.source}}},
      {"note", comparison.note},
      {"answer", answer_json(answer_of(comparison))},
      {"cases", cases},
      {"tunings", tunings_json(comparison.tunings)},
      {"trainings", trainings_json(comparison.trainings)},
      {"runs", runs},
      {"table", table},
      {"expectations", expectations},
      {"wall", {{"machine", wall.machine}, {"seconds", wall.seconds}, {"by_run", wall.by_run}}}};
  // A reason for failure may quote bytes that are not UTF-8.
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace huddle
