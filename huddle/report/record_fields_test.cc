#include "huddle/report/record_fields.h"

#include <gtest/gtest.h>

#include "huddle/report/run_files.h"
#include "huddle/report/step_lines.h"
#include "tests/support/documented_keys.h"
#include "tests/support/sample_json.h"

namespace huddle {
namespace {

TEST(RecordFields, AreAllWrittenAndReadBack) {
  const Json sample = sample_of(JsonKind<SummaryFile>::shape());
  SummaryFile file;
  ASSERT_TRUE(read_into(sample, file));
  const Json found = written(file);
  for (const Field<SummaryFile>& field : JsonKind<SummaryFile>::fields()) {
    ASSERT_TRUE(found.contains(field.name)) << field.name;
    if (field.value.read && field.name != "time") {  // There, workers are counted.
      EXPECT_EQ(found[field.name], sample[field.name]) << field.name;
    }
  }
}

TEST(RecordFields, ReadAsNothingWhereTheyAreMissingOrOfAnotherKind) {
  SummaryFile file;
  read_into(sample_of(JsonKind<SummaryFile>::shape()), file);
  EXPECT_FALSE(read_into(Json("no object"), file));
  EXPECT_EQ(file.summary.strategy, "");
  EXPECT_TRUE(std::isnan(file.summary.seconds));
  EXPECT_TRUE(file.summary.links.empty());
  read_into(Json{{"drift", "far"}, {"figures", {{"a", 1}, {"b", nullptr}}}}, file);
  EXPECT_EQ(file.summary.drift, std::nullopt);
  EXPECT_EQ(file.summary.figures, (std::map<std::string, double>{{"a", 1}}));
}

TEST(RecordFields, StandInTheDocument) {
  const auto steps = documented_keys("files.md", "`steps.jsonl`: one line", "`summary.json`:");
  for (const std::string& key : step_keys()) EXPECT_TRUE(steps.contains(key)) << key;
  const auto summary = documented_keys("files.md", "`summary.json`: replaced", "\n## ");
  for (const Field<SummaryFile>& field : JsonKind<SummaryFile>::fields())
    EXPECT_TRUE(summary.contains(field.name)) << field.name;
}

TEST(StepLines, HoldEveryKeyThatTheTableNames) {
  const StepRecord record{.worker = {1}, .step = {2}, .group = Group({{0}, {1}}), .meeting = 3};
  const Json line = Json::parse(step_line(record));
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) keys.push_back(key);
  EXPECT_EQ(keys, step_keys());
}

}  // namespace
}  // namespace huddle
