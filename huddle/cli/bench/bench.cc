// `huddle bench`: what communication and strategies cost on this machine, in real time.

#include "huddle/cli/bench/bench_commands.h"
#include "huddle/cli/commands.h"

namespace huddle {

void add_bench_command(CLI::App& program, int& status) {
  CLI::App* const bench = program.add_subcommand(
      "bench", "Measures what communication and strategies cost on this machine");
  bench->require_subcommand(1);
  add_bench_collectives_command(*bench, status);
  add_bench_train_command(*bench, status);
}

}  // namespace huddle
