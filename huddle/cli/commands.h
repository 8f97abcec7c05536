// The subcommands of `huddle`.

#pragma once

#include <CLI/CLI.hpp>

namespace huddle {

// Each adds one subcommand to `program`; its callback stores the exit status in `status`.
void add_train_command(CLI::App& program, int& status);
void add_bench_command(CLI::App& program, int& status);
void add_compare_command(CLI::App& program, int& status);
void add_launch_command(CLI::App& program, int& status);
void add_list_command(CLI::App& program, int& status);
void add_report_command(CLI::App& program, int& status);
void add_schedule_command(CLI::App& program, int& status);
void add_timeline_command(CLI::App& program, int& status);

}  // namespace huddle
