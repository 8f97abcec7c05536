// The report: one HTML file that shows what runs came to, opens without network and can be mailed.
//
// The page (huddle/report/page) and the chart library that it draws with are put together when
// Huddle is built and are part of the program. Writing a report adds the data of the runs, as JSON
// that no name or text from a scenario can break out of. docs/report.md says what the page shows.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/report/page/html_report_data.h"

namespace huddle {

// False where Huddle was built without the chart library.
bool can_write_report();

// `json`, which is ASCII, with every character that could open or end an element written by its
// number.
std::string escaped_for_script(std::string_view json);

// The page about `folders` (see report_data), replacing `file` as a whole. Throws UsageError where
// a folder cannot be read or lacks something (report_check.h), `file` cannot be written or is not
// a report, or reports were left out of this build.
void write_report(const std::vector<std::filesystem::path>& folders,
                  const std::filesystem::path& file, const ReadingProgress& progress = {});

}  // namespace huddle
