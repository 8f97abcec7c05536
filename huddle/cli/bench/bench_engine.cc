#include "huddle/cli/bench/bench_engine.h"

#include <optional>

#include "huddle/api/engine.h"
#include "huddle/api/job.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
void declare_engine(CLI::App& command, BenchEngine& engine) {
  command.add_option("--engine", engine.spec, "threads, ucx or mpi")->capture_default_str();
  command.add_option("--workers", engine.workers, "how many; processes: as many as were started")
      ->capture_default_str();
  command.add_flag("--json", engine.as_json, "for programs: one JSON object");
}

BenchPlace take_place(const CLI::App& command, BenchEngine& engine) {
  check_launcher(engine.spec, environment_variable);
  if (is_simulated(engine.spec))
    throw UsageError(
        "--engine sim takes no real time, so there is nothing to measure: use threads, ucx or mpi; "
        "`huddle train --engine sim --timing-only` predicts times of a cluster.");
  std::optional<Job> job;
  if (is_of_processes(engine.spec)) {
    TypedPlace typed;
    if (command.count("--workers") > 0) typed.workers = engine.workers;
    job = Job{.place = place_of(engine.spec, environment_variable, typed)};
    engine.workers = job->place.workers;
  }
  return {.is_first = !job || job->place.rank == 0,
          .start = [spec = engine.spec, job](const Cluster& cluster, const std::string& terms) {
            std::optional<Job> agreed = job;
            if (agreed) agreed->terms = concat("Huddle ", HUDDLE_VERSION, "\n", terms);
            return make_engine(spec, cluster, 1, {}, agreed);
          }};
}

}  // namespace huddle
