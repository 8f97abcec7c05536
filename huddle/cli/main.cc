// The program `huddle`. Exit status: 0 done, 1 the run failed, 2 wrong usage (nothing was run), 130
// interrupted.

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "huddle/base/error.h"
#include "huddle/cli/commands.h"
#include "huddle/cli/parse_errors.h"

namespace huddle {
namespace {

int run(int argc, char** argv) {
  CLI::App program(
      "Huddle trains one model on many workers that synchronise in small, changing groups.");
  program.name("huddle");
  program.set_version_flag("--version", fmt::format("huddle {}", HUDDLE_VERSION));
  program.require_subcommand(1);
  program.footer(
      "Start here:\n  huddle train --workers 8 --strategy bsp --data digits\n  huddle list "
      "strategies\n  huddle train --help");
  int status = 0;
  add_train_command(program, status);
  add_compare_command(program, status);
  add_bench_command(program, status);
  add_launch_command(program, status);
  add_list_command(program, status);
  add_report_command(program, status);
  add_schedule_command(program, status);
  add_timeline_command(program, status);
  try {
    program.parse(argc, argv);
    if (std::fflush(stdout) != 0) throw Error("the output could not be written");
    return status;
  } catch (const CLI::Success& wanted) {  // --help, --version.
    return program.exit(wanted);
  } catch (const CLI::ParseError& error) {
    const std::string chosen = program.get_subcommands().empty()
                                   ? ""
                                   : program.get_subcommands().front()->get_name() + " ";
    fmt::print(stderr, "huddle: {} See huddle {}--help.\n", explained(program, error), chosen);
  } catch (const UsageError& error) {
    fmt::print(stderr, "huddle: {}\n", error.what());
  }
  return 2;
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  try {
    return huddle::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "huddle: {}\n", error.what());
    return 1;
  }
}
