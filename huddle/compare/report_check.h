// Whether files hold what a report is made of: each field that the page needs is there, and of the
// right kind. A page about a file that something else wrote, or that was cut down by hand, would
// show emptiness as if that had been measured.

#pragma once

#include <filesystem>

#include "huddle/report/json_kinds.h"

namespace huddle {

// The JSON object in a file. Throws UsageError where it holds anything else, or as read_file does.
Json read_object(const std::filesystem::path& file);

// `folder` is that of a run (summary.json) or of a comparison (results.json, and the summaries of
// its runs, as far as there are any). Throws UsageError naming the file and all that is missing or
// of the wrong kind in it, or as read_file does. A folder with neither file passes.
void check_report_source(const std::filesystem::path& folder);

}  // namespace huddle
