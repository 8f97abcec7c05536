// The commands of `huddle bench`, each in a file of its name.

#pragma once

#include <CLI/CLI.hpp>

namespace huddle {

// Each sets `status` to the exit status when it has run.
void add_bench_collectives_command(CLI::App& bench, int& status);
void add_bench_train_command(CLI::App& bench, int& status);

}  // namespace huddle
