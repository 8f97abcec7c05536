// `huddle report`: one self-contained page about earlier runs and comparisons.

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/ids.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/cli/commands.h"
#include "huddle/report/format.h"
#include "huddle/report/page/html_report.h"
#include "huddle/report/progress.h"

namespace huddle {
namespace {

struct ReportConfig {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path out;
};

// How much has been read is told once that has taken so long.
constexpr Seconds kPatience = 2;

void make_report(const CLI::App& command, const ReportConfig& config) {
  if (command.count("--out") > 0 && config.out.empty())
    throw UsageError("--out is empty; name a file, as report.html.");
  const std::filesystem::path file =
      config.out.empty() ? config.folders.front() / "report.html" : config.out;
  {
    std::string read;
    ProgressLine line(
        stderr, progress_mode(stderr), steady_seconds, [&](std::size_t) { return read; },
        kPatience);
    write_report(config.folders, file, [&](std::int64_t done, std::int64_t all) {
      read = fmt::format("reading steps: {} of {}", format_bytes(static_cast<double>(done)),
                         format_bytes(static_cast<double>(all)));
      line.update();
      line.renew();
      line.show_if_due();
    });
  }
  fmt::print("The report is in {}; any browser opens it, without network.\n", file.string());
}

}  // namespace

void add_report_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand(
      "report", "Makes one self-contained page (HTML) about earlier runs and comparisons");
  const auto config = std::make_shared<ReportConfig>();
  command
      ->add_option("DIR", config->folders,
                   "folders of `huddle compare` or of `huddle train --out`, of any engine")
      ->required();
  command->add_option("--out", config->out, "the page; default: report.html in the first DIR");
  command->footer(
      "Examples:\n  huddle train --engine sim --strategy sesgd --out out/sesgd\n  huddle train "
      "--engine sim --strategy bsp --out out/bsp\n  huddle report out/sesgd out/bsp --out "
      "report.html\nWhat the page shows: docs/report.md.");
  command->callback([config, command, &status] {
    make_report(*command, *config);
    status = 0;
  });
}

}  // namespace huddle
