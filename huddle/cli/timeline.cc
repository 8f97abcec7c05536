// `huddle timeline`: draws the timeline of a run that was killed, of the log that it left.

#include "huddle/report/timeline.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "huddle/cli/commands.h"

namespace huddle {

void add_timeline_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand(
      "timeline", "Draws the timeline of a run that was killed before it could");
  const auto file = std::make_shared<std::filesystem::path>();
  command->add_option("FILE", *file, "what `--timeline` named; its log lies beside it")->required();
  command->footer("Example:\n  huddle timeline timeline.json\nMore: docs/timeline.md.");
  command->callback([file, &status] {
    draw_timeline(*file);
    fmt::print("The timeline is in {}; ui.perfetto.dev opens it.\n", file->string());
    status = 0;
  });
}

}  // namespace huddle
