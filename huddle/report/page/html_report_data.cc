#include "huddle/report/page/html_report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/compare/comparison_files.h"
#include "huddle/compare/report_check.h"
#include "huddle/compare/result_fields.h"
#include "huddle/report/page/html_report_series.h"
#include "huddle/report/page/html_report_thinning.h"

namespace huddle {
namespace {

using Path = std::filesystem::path;

constexpr const char* kStepsName = "steps.jsonl";
constexpr std::uint64_t kLargestCount = std::uint64_t{1} << 53;
constexpr std::size_t kMostPoints = 400;        // Of one curve ...
constexpr std::size_t kPointsOfAllRuns = 8000;  // ... and of the curves of all runs, but
constexpr std::size_t kFewestPoints = 50;       // at least so many of each.

// `value` in this shape (json_kinds.h), whatever it was. Files may be older or newer than this
// program, or edited by hand; the page must not have to doubt every value. What is missing becomes
// empty or null, what the shape does not name is left out.
Json shaped(const Json& value, const Json& shape) {
  if (shape == "text" && (value.is_number() || value.is_boolean())) return value.dump();
  if (shape == "text" || shape == "name") return value.is_string() ? value : "";
  if (shape == "flag") return value.is_boolean() && value.get<bool>();
  // The page's numbers are doubles: only as text is a seed beyond them whole.
  if (shape == "number" && value.is_number_integer() && value > kLargestCount) return value.dump();
  if (shape.is_string() && value.is_number_integer()) return value;
  if (shape.is_string()) return value.is_number() ? Json(rounded(value.get<double>())) : Json();
  if (shape.is_array()) {
    Json list = Json::array();
    if (value.is_array())
      for (const Json& item : value) list.push_back(shaped(item, shape[0]));
    return list;
  }
  if (shape.contains("?")) return shaped(value, shape["?"]);
  Json object = Json::object();
  if (shape.contains("*")) {
    if (value.is_object())
      for (const auto& [key, item] : value.items()) object[key] = shaped(item, shape["*"]);
    return object;
  }
  for (const auto& [key, inner] : shape.items())
    object[key] = shaped(value.is_object() ? value.value(key, Json()) : Json(), inner);
  return object;
}

template <typename Value>
Json shaped_as(const Json& value) {
  return shaped(value, JsonKind<Value>::shape());
}

// Of summary.json: what a run was asked to do, and where. Lists and tables are no facts.
Json facts_in(const Json& summary) {
  Json facts = shaped_as<SummaryFile>(summary);
  for (const Field<SummaryFile>& field : JsonKind<SummaryFile>::fields())
    if (facts[field.name].is_structured()) facts.erase(field.name);
  return facts;
}

// A run of the page, and where its files are.
struct RunSource {
  Path folder;
  Path trained_in;  // The folder whose values it shares; empty: its own.
  Json run;
};

// The folder of a run inside a comparison. An id must not lead out of it.
Path run_folder(const Path& comparison, const std::string& id) {
  const Path relative(id);
  const bool leads_out = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (id.empty() || relative.is_absolute() || leads_out)
    throw UsageError(concat("'", (comparison / "results.json").string(), "': the run id '", id,
                            "' does not name a folder inside runs/."));
  return comparison / "runs" / relative;
}

Json read_results(const Path& folder) {
  const Json results = read_object(folder / "results.json");
  const Json format = results.value("format", Json());
  if (format != Results::kFormat)
    throw UsageError(concat("'", (folder / "results.json").string(), "' has format ", format.dump(),
                            ", this Huddle reads ", Results::kFormat,
                            ". Make the report with the Huddle that compared."));
  return shaped_as<Results>(results);
}

// What a run was asked to do. One that was only timed does not know what was trained.
Json facts_of(const RunSource& source) {
  const auto read = [](const Path& folder) {
    const Path file = folder / "summary.json";
    return facts_in(std::filesystem::exists(file) ? read_object(file) : Json());
  };
  Json facts = read(source.folder);
  if (source.trained_in.empty()) return facts;
  const Json trained = read(source.trained_in);
  for (const char* key : {"model", "data", "split", "optimizer", "batch", "parameters"})
    facts[key] = trained[key];
  return facts;
}

Json run_of_summary(const Path& folder) {
  const Json summary = read_object(folder / "summary.json");
  Json run = shaped_as<ComparedRun>(summary);
  run["id"] = folder.string();
  run["facts"] = facts_in(summary);
  return run;
}

// What `huddle compare` would write of these runs as one case, over the run at `base` if there is
// one.
Json results_of(const std::vector<Json>& runs, std::optional<std::size_t> base) {
  Comparison all;
  std::vector<ComparedStrategy> strategies;
  for (const Json& run : runs) {
    all.runs.push_back(
        {.case_name = run["case"], .label = run["label"], .strategy = run["strategy"]});
    all.runs.back().outcome = read_outcome(run["id"].get<std::string>()).value_or(RunOutcome{});
    strategies.push_back({.label = run["label"]});
  }
  if (base) strategies[*base].baselines.push_back(strategies[*base].label);
  all.cases.push_back({.name = runs.front()["case"]});
  all.table = compare_runs(all.runs, strategies);
  return shaped_as<Results>(Json::parse(results_json(all, {}, "")));
}

Json points_json(const std::vector<ThinPoint>& points) {
  Json json;
  for (const char* key : {"at", "mean", "least", "most"}) json[key] = Json::array();
  for (const ThinPoint& point : points) {
    json["at"].push_back(rounded(point.position));
    json["mean"].push_back(rounded(point.mean));
    json["least"].push_back(rounded(point.smallest));
    json["most"].push_back(rounded(point.largest));
  }
  return json;
}

Json groups_json(const StepSeries& series) {
  Json rows = Json::array();
  for (const GroupsRow& row : series.groups)
    rows.push_back({{"groups", row.groups},
                    {"of", row.group_of},
                    {"end", row.end ? Json(rounded(*row.end)) : Json()}});
  return {{"rows", rows}, {"repeat", series.groups_repeat}};
}

// Collects the runs of all folders, then reads their steps.
class ReportMaker {
 public:
  ReportMaker() {
    data_["made_by"] = HUDDLE_VERSION;
    for (const char* list : {"notes", "answers", "scenarios", "cases", "table", "runs"})
      data_[list] = Json::array();
    for (const Field<ComparedRow>* field : columns_in(&Shown::page))
      data_["columns"].push_back({{"key", field->name},
                                  {"heading", field->shown.page.heading},
                                  {"format", field->shown.format},
                                  {"factors", field->shown.factors}});
  }

  // `naming`: whether the names of cases must tell this comparison from others.
  enum class Naming { plain, with_scenario };
  void add_comparison(const Path& folder, Naming naming) {
    Json results = read_results(folder);
    Json& scenario = results["scenario"];
    for (const char* key : {"version", "expectations"}) scenario[key] = results[key];
    scenario["machine"] = results["wall"]["machine"];
    const std::string prefix = naming == Naming::plain ? "" : prefix_of(scenario["name"]);
    const auto rename = [&prefix](Json& name) { name = prefix + name.get<std::string>(); };
    for (Json& item : results["cases"]) {
      rename(item["name"]);
      item["scenario"] = data_["scenarios"].size();
      data_["cases"].push_back(item);
    }
    for (Json& told : results["answer"]["cases"]) rename(told["case"]);
    data_["answers"].push_back(results["answer"]);
    for (Json& row : results["table"]) {
      rename(row["case"]);
      data_["table"].push_back(row);
    }
    for (Json& run : results["runs"]) {
      rename(run["case"]);
      const char* const times = run["timed_in"] != "" ? "timed_in" : "id";
      RunSource source{.folder = run_folder(folder, run[times].get<std::string>())};
      if (run["trained_in"] != "")
        source.trained_in = run_folder(folder, run["trained_in"].get<std::string>());
      run["facts"] = facts_of(source);
      source.run = run;
      sources_.push_back(std::move(source));
    }
    if (results["note"] != "") data_["notes"].push_back(results["note"]);
    data_["scenarios"].push_back(scenario);
  }

  void add_single_runs(const std::vector<Path>& folders) {
    const std::string name = data_["cases"].empty() ? "" : "single runs";
    data_["cases"].push_back({{"name", name}, {"text", ""}, {"scenario", nullptr}});
    std::vector<Json> runs;
    std::map<Json, int> strategies;
    for (const Path& folder : folders)
      ++strategies[runs.emplace_back(run_of_summary(folder))["strategy"]];
    std::set<std::string> labels;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string strategy = runs[i]["strategy"];
      std::string label = strategy;
      if (strategies[strategy] > 1)
        label += fmt::format(" ({})", std::filesystem::canonical(folders[i]).filename().string());
      while (!labels.insert(label).second) label += "'";
      runs[i]["label"] = label;
      runs[i]["case"] = name;
    }
    compare(runs);
    for (std::size_t i = 0; i < runs.size(); ++i)
      sources_.push_back({.folder = folders[i], .trained_in = {}, .run = std::move(runs[i])});
  }

  std::string finish(const ReadingProgress& progress) {
    std::vector<Path> files;
    for (const RunSource& source : sources_)
      for (const Path& folder : {source.folder, source.trained_in})
        if (!folder.empty()) files.push_back(folder / kStepsName);
    const std::size_t fair_share = kPointsOfAllRuns / std::max<std::size_t>(sources_.size(), 1);
    const std::size_t most_points = std::clamp(fair_share, kFewestPoints, kMostPoints);
    data_["most_points"] = most_points;
    StepFiles step_files(files, most_points, progress);
    std::set<std::pair<Json, Json>> shown;
    for (RunSource& source : sources_) {
      add_series(source, step_files);
      // Of several seeds the page shows times, links and groups of the first.
      if (!shown.emplace(source.run["case"], source.run["label"]).second)
        for (const char* key : {"time", "links", "groups"}) source.run[key] = Json::array();
      thin_times(source.run);
      thin_links(source.run);
      thin_curve(source.run, most_points);
      data_["runs"].push_back(std::move(source.run));
    }
    return data_.dump(-1, ' ', true, Json::error_handler_t::replace);
  }

 private:
  // Cases of several comparisons may have the same names.
  std::string prefix_of(const std::string& scenario) {
    std::string prefix = scenario + ": ";
    for (int number = 2; !prefixes_.insert(prefix).second; ++number)
      prefix = fmt::format("{} ({}): ", scenario, number);
    return prefix;
  }

  // Over the first bsp, or else over the first run, where all did the same work. A run that did not
  // come to its end is neither compared nor compared with.
  void compare(std::vector<Json>& runs) {
    const auto is_complete = [](const Json& run) { return run["status"] == "complete"; };
    const auto is_bsp = [&is_complete](const Json& run) {
      return is_complete(run) && run["strategy"].get<std::string>().starts_with("bsp");
    };
    auto base = std::find_if(runs.begin(), runs.end(), is_bsp);
    if (base == runs.end()) base = std::find_if(runs.begin(), runs.end(), is_complete);
    std::set<std::string> differences;
    for (const Json& run : runs)
      for (const char* key : {"workers", "model", "data", "batch", "cluster", "network"})
        if (run["facts"][key] != runs.front()["facts"][key]) differences.insert(key);
    const bool is_compared = runs.size() > 1 && differences.empty() && base != runs.end();
    const Json results = results_of(
        runs, is_compared ? std::optional<std::size_t>(base - runs.begin()) : std::nullopt);
    if (is_compared) data_["answers"].push_back(results["answer"]);
    for (const Json& row : results["table"]) data_["table"].push_back(row);
    for (std::size_t i = 0; i < runs.size(); ++i)
      runs[i]["step_seconds"] = results["runs"][i]["step_seconds"];
    if (!differences.empty())
      data_["notes"].push_back(
          concat("These runs differ in ",
                 joined(std::vector<std::string>(differences.begin(), differences.end())),
                 ", so no speed-ups are given."));
  }

  static void add_series(RunSource& source, StepFiles& files) {
    Json& run = source.run;
    const StepSeries* timed = files.series_of(source.folder / kStepsName);
    const StepSeries* valued =
        source.trained_in.empty() ? timed : files.series_of(source.trained_in / kStepsName);
    if (timed == nullptr || valued == nullptr) return;
    const bool is_own = timed == valued;
    run["series"] = {
        {"loss_by_step", points_json(valued->loss_by_step)},
        {"loss_by_time",
         points_json(is_own ? timed->loss_by_time : at_times_of(*timed, valued->loss_by_step))}};
    run["groups"] = groups_json(*timed);
    run["lines"] = timed->lines;
    run["steps"] = timed->steps;
    run["is_cut_off"] = timed->is_cut_off;
    run["diverged_step"] = valued->diverged_step ? Json(*valued->diverged_step) : Json();
  }

  Json data_;
  std::vector<RunSource> sources_;
  std::set<std::string> prefixes_;
};

}  // namespace

std::string report_data(const std::vector<Path>& folders, const ReadingProgress& progress) {
  check(!folders.empty(), "a report about nothing");
  ReportMaker maker;
  std::vector<Path> single_runs;
  for (const Path& folder : folders) {
    if (!std::filesystem::is_directory(folder))
      throw UsageError(concat("there is no folder '", folder.string(), "'."));
    if (std::filesystem::exists(folder / "results.json"))
      maker.add_comparison(folder, folders.size() == 1 ? ReportMaker::Naming::plain
                                                       : ReportMaker::Naming::with_scenario);
    else if (std::filesystem::exists(folder / "summary.json"))
      single_runs.push_back(folder);
    else
      throw UsageError(concat("'", folder.string(),
                              "' holds neither results.json (of a comparison) nor summary.json (of "
                              "a run). Name a folder that `huddle compare` or `huddle train --out` "
                              "has written."));
  }
  if (!single_runs.empty()) maker.add_single_runs(single_runs);
  return maker.finish(progress);
}

}  // namespace huddle
