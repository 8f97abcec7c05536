#include "huddle/compare/report_check.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "huddle/base/error.h"
#include "huddle/compare/comparison_files.h"
#include "huddle/compare/result_fields.h"
#include "huddle/report/run_files.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Parsed = nlohmann::json;

class ReportCheck : public testing::Test {
 protected:
  // What is said of such a file.
  std::string refusal(const char* name, const std::string& text) const {
    const ScratchFolder folder;
    folder.write(name, text);
    try {
      check_report_source(folder.path());
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  static Parsed summary() {
    return Parsed::parse(
        summary_json({.strategy = "bsp", .time = {{}, {}}, .links = {{.name = "a"}}}, "1"));
  }

  static Parsed results() {
    Comparison all{.name = "n"};
    all.cases.push_back({"x", "", "cases/x.toml"});
    all.runs.push_back({.id = "x/bsp/1", .case_name = "x", .label = "bsp", .strategy = "bsp"});
    all.table = compare_runs(all.runs, std::vector<ComparedStrategy>{{.label = "bsp"}});
    return Parsed::parse(results_json(all, {}, "1"));
  }
};

TEST_F(ReportCheck, TakesWhatHuddleWrites) {
  EXPECT_EQ(refusal("summary.json", summary().dump()), "");
  EXPECT_EQ(refusal("results.json", results().dump()), "");
}

TEST_F(ReportCheck, NamesEveryFieldThatIsMissing) {
  const std::string nothing = refusal("summary.json", "{}");
  for (const char* const name : {"summary.json'", "'strategy'", "'status'", "'workers'",
                                 "'seconds'", "'time'", "'accuracy'", "huddle train --out"})
    EXPECT_NE(nothing.find(name), std::string::npos) << name << ": " << nothing;
  Parsed one = summary();
  one["time"][1].erase("wait");
  EXPECT_NE(refusal("summary.json", one.dump()).find("it does not have 'time[1].wait'."),
            std::string::npos);
  Parsed other = results();
  other["runs"][0].erase("status");
  EXPECT_NE(refusal("results.json", other.dump()).find("it does not have 'runs[0].status'."),
            std::string::npos);
}

TEST_F(ReportCheck, MissesEveryFieldOfARowOfTheTable) {
  for (const Field<ComparedRow>& field : JsonKind<ComparedRow>::fields()) {
    const std::string& key = field.name;
    const bool may_be_missing = field.value.shape().contains("?") || field.empty == Empty::left_out;
    Parsed changed = results();
    changed["table"][0].erase(key);
    const std::string said = refusal("results.json", changed.dump());
    EXPECT_EQ(said.find("'table[0]." + key + "'") == std::string::npos, may_be_missing) << key;
  }
}

TEST_F(ReportCheck, NamesEveryFieldOfTheWrongKind) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Parsed>>{{"workers", "many"},
                                                   {"seconds", "long"},
                                                   {"time", 3},
                                                   {"links", Parsed::object()},
                                                   {"accuracy", Parsed::array()},
                                                   {"status", 5},
                                                   {"curve", {1}}}) {
    Parsed changed = summary();
    changed[key] = value;
    EXPECT_NE(refusal("summary.json", changed.dump()).find("'" + key), std::string::npos) << key;
  }
  EXPECT_NE(refusal("summary.json", "[]").find("not a whole JSON object"), std::string::npos);
}

TEST_F(ReportCheck, LeavesResultsOfAnotherFormatToTheirReader) {
  EXPECT_EQ(refusal("results.json", R"({"format": 2})"), "");
}

}  // namespace
}  // namespace huddle
