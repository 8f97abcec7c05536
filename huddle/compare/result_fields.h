// The fields of results.json. Keys: see docs/compare.md.

#pragma once

#include <string>
#include <vector>

#include "huddle/compare/answer.h"
#include "huddle/compare/comparison_files.h"
#include "huddle/report/fields.h"
#include "huddle/report/record_fields.h"

namespace huddle {

// What results.json holds.
struct Results {
  static constexpr int kFormat = 1;

  int format = kFormat;
  std::string version;
  Comparison comparison;
  ComparisonAnswer answer;
  WallClock wall;
};

std::vector<Field<Spread>> fields_of(const Spread*);
std::vector<Field<ConfidenceInterval>> fields_of(const ConfidenceInterval*);
std::vector<Field<Target>> fields_of(const Target*);
std::vector<Field<ConsensusCost>> fields_of(const ConsensusCost*);
std::vector<Field<Bottleneck>> fields_of(const Bottleneck*);
std::vector<Field<Speedup>> fields_of(const Speedup*);
std::vector<Field<CaseAnswer>> fields_of(const CaseAnswer*);
std::vector<Field<ComparisonAnswer>> fields_of(const ComparisonAnswer*);
std::vector<Field<Comparison::Case>> fields_of(const Comparison::Case*);
std::vector<Field<Tuning>> fields_of(const Tuning*);
std::vector<Field<Training>> fields_of(const Training*);
std::vector<Field<Verdict>> fields_of(const Verdict*);
std::vector<Field<WallClock>> fields_of(const WallClock*);
std::vector<Field<Results>> fields_of(const Results*);

// What a comparison says of its scenario; the rest of it are lists of their own.
std::vector<Field<Comparison>> fields_of(const Comparison*);

// A run. What summary.json says of it too has the same name there.
std::vector<Field<ComparedRun>> fields_of(const ComparedRun*);

// A row of the tables, which show it.
std::vector<Field<ComparedRow>> fields_of(const ComparedRow*);

// The columns of one of the tables, in their order.
std::vector<const Field<ComparedRow>*> columns_in(Column Shown::*table);

}  // namespace huddle
