#include "huddle/compare/report_check.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

constexpr std::size_t kMostTold = 24;  // Of what is wrong with a file.
constexpr int kFormat = 1;             // Of results.json.

// As in html_report_shapes.h, but "figure" is a number or null (what was not finite, or was not
// measured), and "name" a text or null.
constexpr std::string_view kSummary = R"({
  "strategy": "text", "engine": "text", "model": "text", "data": "text", "split": "text",
  "optimizer": "text", "status": "text", "workers": "number", "batch": "number",
  "steps": "number", "steps_done": "number", "seed": "number", "version": "text",
  "machine": "text", "parameters": "number", "seconds": "figure", "loss": "figure",
  "accuracy": {"*": "figure"}, "test_loss": {"*": "figure"}, "drift": "figure",
  "bytes_sent_per_worker": "figure", "cluster": "name", "network": "name",
  "time": [{"worker": "number", "compute": "figure", "wait": "figure", "exchange": "figure",
            "hidden": "figure"}],
  "links": [{"name": "text", "bytes": "figure", "busy": "figure", "full": "figure",
             "bytes_per_second": "figure"}],
  "curve": [{"progress": "figure", "time": "figure", "loss": "figure", "accuracy": "figure",
             "drift": "figure"}],
  "figures": {"*": "figure"}, "warnings": ["text"], "lost": ["text"]})";

constexpr std::string_view kResults = R"({
  "format": "number", "version": "text",
  "scenario": {"name": "text", "title": "text", "text": "text", "claim": "text",
               "assumptions": ["text"], "source": "text"},
  "cases": [{"name": "text", "text": "text"}],
  "runs": [{"id": "text", "case": "text", "label": "text", "strategy": "text", "seed": "number",
            "status": "text", "command": "text", "trained_in": "name", "step_seconds": "figure",
            "accuracy": {"*": "figure"}, "test_loss": {"*": "figure"}, "loss": "figure",
            "drift": "figure", "bytes_sent_per_worker": "figure",
            "time": [{"compute": "figure", "wait": "figure", "exchange": "figure"}],
            "links": [{"name": "text", "full": "figure"}],
            "curve": [{"progress": "figure", "time": "figure"}],
            "figures": {"*": "figure"}, "warnings": ["text"], "lost": ["text"]}],
  "table": [{"case": "text", "label": "text", "strategy": "text", "seeds": "number",
             "baselines": [{"name": "text", "label": "name", "speedup": "figure"}],
             "bytes_sent_per_worker": "figure", "wait": "figure", "exchange": "figure",
             "hidden": "figure", "bottleneck": "name"}],
  "expectations": [{"text": "text"}], "wall": {"machine": "text"}})";

bool is_a(const Json& value, const std::string& kind) {
  if (kind == "text") return value.is_string();
  if (kind == "name") return value.is_string() || value.is_null();
  if (kind == "number") return value.is_number();
  return value.is_number() || value.is_null();
}

struct Findings {
  std::vector<std::string> missing;
  std::vector<std::string> wrong;

  bool is_enough() const { return missing.size() + wrong.size() >= kMostTold; }
};

void hold_against(const Json& value, const Json& shape, const std::string& place,
                  Findings& findings) {
  const auto refuse = [&](const std::string& kind) {
    findings.wrong.push_back(concat("'", place, "' is not a ", kind));
  };
  if (shape.is_string()) {
    const std::string kind = shape.get<std::string>();
    if (!is_a(value, kind))
      refuse(kind == "text" ? "text" : kind == "name" ? "text or null" : "number");
  } else if (shape.is_array()) {
    if (!value.is_array()) return refuse("list");
    for (std::size_t i = 0; i < value.size() && !findings.is_enough(); ++i)
      hold_against(value[i], shape[0], concat(place, "[", i, "]"), findings);
  } else if (!value.is_object()) {
    refuse("table of keys");
  } else if (shape.contains("*")) {
    for (const auto& [key, item] : value.items())
      hold_against(item, shape["*"], concat(place, ".", key), findings);
  } else {
    for (const auto& [key, inner] : shape.items()) {
      const std::string name = place.empty() ? key : concat(place, ".", key);
      if (!value.contains(key))
        findings.missing.push_back(concat("'", name, "'"));
      else
        hold_against(value[key], inner, name, findings);
    }
  }
}

Json checked(const Path& file, std::string_view shape) {
  Json value = Json::parse(read_file(file, kMostResultBytes), nullptr, false);
  if (!value.is_object())
    throw UsageError(
        concat("'", file.string(), "' is not a whole JSON object. Was it cut off or edited?"));
  if (value.value("format", Json(kFormat)) != kFormat) return value;  // Refused by who reads it.
  Findings findings;
  hold_against(value, Json::parse(shape), "", findings);
  if (findings.missing.empty() && findings.wrong.empty()) return value;
  std::vector<std::string> parts;
  if (!findings.missing.empty())
    parts.push_back(concat("it does not have ", joined(findings.missing)));
  parts.insert(parts.end(), findings.wrong.begin(), findings.wrong.end());
  throw UsageError(concat("no report can be made of '", file.string(), "': ", joined(parts, "; "),
                          ". Name a folder that `huddle compare` or `huddle train --out` has "
                          "written."));
}

}  // namespace

void check_report_source(const Path& folder) {
  if (!std::filesystem::exists(folder / "results.json")) {
    if (std::filesystem::exists(folder / "summary.json"))
      checked(folder / "summary.json", kSummary);
    return;
  }
  const Json results = checked(folder / "results.json", kResults);
  if (results["format"] != kFormat) return;
  for (const Json& run : results["runs"]) {
    const Path summary = folder / "runs" / run["id"].get<std::string>() / "summary.json";
    if (std::filesystem::exists(summary)) checked(summary, kSummary);
  }
}

}  // namespace huddle
