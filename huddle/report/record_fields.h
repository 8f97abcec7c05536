// The fields of what a run writes: summary.json, and the lists in it. Keys: see docs/files.md.

#pragma once

#include <string>
#include <vector>

#include "huddle/record/record.h"
#include "huddle/report/fields.h"

namespace huddle {

// What summary.json holds.
struct SummaryFile {
  Summary summary;
  std::string version;
  std::string machine;
};

std::vector<Field<TimeSplit>> fields_of(const TimeSplit*);
std::vector<Field<LinkUse>> fields_of(const LinkUse*);
std::vector<Field<CurvePoint>> fields_of(const CurvePoint*);
std::vector<Field<SummaryFile>> fields_of(const SummaryFile*);

// By worker: each has its number, too.
template <>
struct JsonKind<std::vector<TimeSplit>> {
  static Json write(const std::vector<TimeSplit>& times);
  static bool read(const Json& json, std::vector<TimeSplit>& times);
  static Json shape();
};

}  // namespace huddle
