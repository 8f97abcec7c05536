#include "huddle/report/own_files.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kEndBytes = 4096;

// A JSON object with all of these keys.
bool has_keys(const fs::path& file, std::initializer_list<const char*> keys) {
  const auto json = nlohmann::json::parse(read_file(file, kMostResultBytes), nullptr, false);
  return std::ranges::all_of(keys, [&](const char* key) { return json.contains(key); });
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string name_of(OwnFile kind) {
  switch (kind) {
    case OwnFile::summary: return "the summary of a run";
    case OwnFile::steps: return "the steps of a run";
    case OwnFile::timeline: return "the timeline of a run";
    case OwnFile::report: return "a report";
    case OwnFile::results: return "the results of a comparison";
    case OwnFile::checkpoint: return "a checkpoint";
  }
  return "";
}

}  // namespace

bool is_own(const fs::path& file, OwnFile kind) {
  if (!fs::is_regular_file(file)) return false;
  const FileEnds ends = read_ends(file, kEndBytes);
  if (ends.first.empty()) return true;
  switch (kind) {
    case OwnFile::summary:
      return has_keys(file, {"strategy", "engine", "status", "steps_done", "version", "machine"});
    case OwnFile::steps:
      return ends.first.starts_with(R"({"worker":)") && contains(ends.first, R"(,"step":)");
    case OwnFile::timeline:
      return ends.first.starts_with(R"({"traceEvents":[)") &&
             contains(ends.last, R"("otherData":{"program":"huddle )");
    case OwnFile::report:
      return contains(ends.first, R"(<meta name="generator" content="huddle report">)");
    case OwnFile::results: return has_keys(file, {"format", "version", "scenario", "runs", "wall"});
    case OwnFile::checkpoint: return has_keys(file, {"step", "settings"});
  }
  return false;
}

void check_replaceable(const fs::path& file, OwnFile kind, Older older, const std::string& place,
                       const std::string& consent) {
  if (!fs::exists(file)) return;
  if (!is_own(file, kind))
    throw UsageError(concat(place, ": Huddle has not written '", file.string(), "' as ",
                            name_of(kind), " and does not replace it; choose another name."));
  if (older == Older::refuse)
    throw UsageError(concat(place, ": '", file.string(), "' holds ", name_of(kind),
                            " already; choose another name, or give it up with ", consent, "."));
}

}  // namespace huddle
