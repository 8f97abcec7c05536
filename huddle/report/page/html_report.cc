#include "huddle/report/page/html_report.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"
#include "huddle/compare/report_check.h"
#include "huddle/report/own_files.h"

namespace huddle {

// The page without data, compiled into the program (CMakeLists.txt); empty where the chart library
// was missing.
std::span<const std::uint8_t> report_page();

namespace {

// Stands in the page where the data goes.
constexpr std::string_view kPlaceOfData = "@report.json@";

std::string_view page_text() {
  const std::span<const std::uint8_t> bytes = report_page();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw UsageError(concat("cannot write the report '", file.string(), "': ", why,
                          ". Name another file with --out."));
}

}  // namespace

std::string escaped_for_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char character : json) {
    if (character == '<' || character == '>' || character == '&')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
    else
      text += character;
  }
  return text;
}

bool can_write_report() { return !page_text().empty(); }

void write_report(const std::vector<std::filesystem::path>& folders,
                  const std::filesystem::path& file, const ReadingProgress& progress) {
  if (!can_write_report())
    throw UsageError(
        "this Huddle was built without Chart.js, so it cannot make reports. Install it (on Debian: "
        "apt-get install libjs-chart.js) and build again.");
  if (std::filesystem::is_directory(file)) refuse(file, "it is a folder");
  if (std::filesystem::exists(file) && !is_own(file, OwnFile::report))
    refuse(file, "it exists, and Huddle has not written it as a report");
  for (const std::filesystem::path& folder : folders) check_report_source(folder);
  const std::string data = escaped_for_script(report_data(folders, progress));
  const std::string_view page = page_text();
  const std::size_t place = page.find(kPlaceOfData);
  check(place != std::string_view::npos, "the page has no place for data");
  const std::error_code error =
      replace_file(file, {page.substr(0, place), data, page.substr(place + kPlaceOfData.size())});
  if (error) refuse(file, error.message());
}

}  // namespace huddle
