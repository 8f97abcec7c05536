#include "huddle/compare/report_check.h"

#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"
#include "huddle/compare/result_fields.h"

namespace huddle {
namespace {

using Path = std::filesystem::path;

constexpr std::size_t kMostTold = 24;  // Of what is wrong with a file.

bool is_a(const Json& value, const std::string& kind) {
  if (kind == "text") return value.is_string();
  if (kind == "name") return value.is_string() || value.is_null();
  if (kind == "number") return value.is_number();
  if (kind == "flag") return value.is_boolean();
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
      refuse(kind == "text" || kind == "flag" ? kind : kind == "name" ? "text or null" : "number");
  } else if (shape.contains("?")) {
    if (!value.is_null()) hold_against(value, shape["?"], place, findings);
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
      if (value.contains(key))
        hold_against(value[key], inner, name, findings);
      else if (!inner.contains("?"))
        findings.missing.push_back(concat("'", name, "'"));
    }
  }
}

Json checked(const Path& file, const Json& shape) {
  Json value = read_object(file);
  if (value.value("format", Json(Results::kFormat)) != Results::kFormat)
    return value;  // Refused by who reads it.
  Findings findings;
  hold_against(value, shape, "", findings);
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

Json read_object(const Path& file) {
  Json value = Json::parse(read_file(file, kMostResultBytes), nullptr, false);
  if (!value.is_object())
    throw UsageError(
        concat("'", file.string(), "' is not a whole JSON object. Was it cut off or edited?"));
  return value;
}

void check_report_source(const Path& folder) {
  if (!std::filesystem::exists(folder / "results.json")) {
    if (std::filesystem::exists(folder / "summary.json"))
      checked(folder / "summary.json", JsonKind<SummaryFile>::shape());
    return;
  }
  const Json results = checked(folder / "results.json", JsonKind<Results>::shape());
  if (results["format"] != Results::kFormat) return;
  for (const Json& run : results["runs"]) {
    const Path summary = folder / "runs" / run["id"].get<std::string>() / "summary.json";
    if (std::filesystem::exists(summary)) checked(summary, JsonKind<SummaryFile>::shape());
  }
}

}  // namespace huddle
