#include "huddle/compare/result_fields.h"

#include <gtest/gtest.h>

#include "huddle/compare/comparison_table.h"
#include "tests/support/documented_keys.h"
#include "tests/support/sample_json.h"

namespace huddle {
namespace {

// A record with a value in every field that can be read.
template <typename Record>
Record sample() {
  Record record;
  EXPECT_TRUE(read_into(sample_of(JsonKind<Record>::shape()), record));
  return record;
}

template <typename Record>
class ResultFields : public testing::Test {};
using Records =
    testing::Types<Spread, ConfidenceInterval, Target, ConsensusCost, Bottleneck, Speedup,
                   CaseAnswer, ComparisonAnswer, Comparison::Case, Tuning, Training, Verdict,
                   WallClock, Comparison, ComparedRun, ComparedRow, Results>;
TYPED_TEST_SUITE(ResultFields, Records);

TYPED_TEST(ResultFields, AreAllWrittenAndReadBack) {
  const Json wanted = sample_of(JsonKind<TypeParam>::shape());
  const Json found = written(sample<TypeParam>());
  for (const Field<TypeParam>& field : JsonKind<TypeParam>::fields()) {
    EXPECT_TRUE(field.empty == Empty::left_out || found.contains(field.name)) << field.name;
    if (field.value.read && !wanted[field.name].is_structured()) {
      EXPECT_EQ(found[field.name], wanted[field.name]) << field.name;
    }
  }
  TypeParam again;
  read_into(found, again);
  EXPECT_EQ(written(again), found);
}

TYPED_TEST(ResultFields, StandInTheDocument) {
  const auto known = documented_keys("compare.md", "\n## results.json", "\n## ");
  for (const Field<TypeParam>& field : JsonKind<TypeParam>::fields())
    EXPECT_TRUE(known.contains(field.name)) << field.name;
}

// The test loss stands for accuracies where there are none.
TEST(RowFields, StandInTheTableOfTheTerminal) {
  const ComparedRow row = sample<ComparedRow>();
  ComparedRow without_classes = row;
  without_classes.accuracy_consensus.reset();
  Comparison comparison{.cases = {{.name = row.case_name}}, .table = {row, without_classes}};
  const std::string text = comparison_text(comparison, Columns::all);
  for (const Field<ComparedRow>& field : JsonKind<ComparedRow>::fields())
    EXPECT_NE(text.find(field.shown.terminal.heading), std::string::npos) << field.name << text;
  EXPECT_NE(text.find("vs some text"), std::string::npos) << text;
}

TEST(RowFields, HavePlacesOfTheirOwnInEachTable) {
  for (const auto table : {&Shown::terminal, &Shown::page}) {
    const auto columns = columns_in(table);
    EXPECT_GT(columns.size(), 10u);
    for (std::size_t i = 1; i < columns.size(); ++i)
      EXPECT_LT((columns[i - 1]->shown.*table).place, (columns[i]->shown.*table).place);
  }
}

}  // namespace
}  // namespace huddle
