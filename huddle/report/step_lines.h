// The lines of steps.jsonl, one for each worker and step: how a run writes them, and how reports
// read them back. Files are easily hundreds of megabytes: they are read line by line, and only what
// is needed of each. Keys: see docs/files.md.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "huddle/record/record.h"

namespace huddle {

// What one line says, as far as anybody reads it.
struct StepLine {
  double worker = -1;
  double step = -1;
  double end = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
  double bytes_sent = 0;
  std::optional<double> progress;  // Steps of the run, where each worker has its own pace.
  std::vector<int> group;
  std::optional<double> meeting;  // Which average, where groups form on the way.
};

// The line of one step, with its end.
std::string step_line(const StepRecord& record);

// The names of all that a line can hold.
std::vector<std::string> step_keys();

// How many bytes were read since the last call.
using BytesRead = std::function<void(std::int64_t)>;

// What becomes of the last line when a run is killed.
enum class LastLine { whole, cut_off };

// Gives every whole line to `take`, in order. Throws UsageError naming the file where it cannot be
// opened, and the line where one before the last is not a step.
LastLine read_step_lines(const std::filesystem::path& file,
                         const std::function<void(const StepLine&)>& take,
                         const BytesRead& bytes_read = {});

}  // namespace huddle
