// What a report's page is told: the runs of some folders as one JSON object, brought into one shape
// and thinned to what can be drawn.
//
// A folder is either a comparison (results.json, with the files of its runs under runs/) or one run
// of any engine (summary.json and steps.jsonl). Single runs are put side by side as one comparison
// without a scenario; speed-ups are then counted over the first `bsp` among them, or else over the
// first run, and only where all of them trained the same.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "huddle/report/page/html_report_series.h"

namespace huddle {

// The JSON text, in ASCII. Throws UsageError naming the file where a folder is not there, holds
// neither kind of file, or a file in it is broken. A run without steps.jsonl, or with one whose
// last line is cut off, is no error. REQUIRES: at least one folder.
std::string report_data(const std::vector<std::filesystem::path>& folders,
                        const ReadingProgress& progress = {});

}  // namespace huddle
