// Whole runs for tests: small enough that a test can afford many.

#pragma once

#include "huddle/train/trainer.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {

// All that a run is made of.
struct Setting {
  TrainOptions options;
  ProblemOptions problem;
  ThreadsOptions engine;
};

// Forty steps of a small network on digits.
inline Setting small_run(int workers) {
  Setting run;
  run.options = {.strategy = "bsp",
                 .workers = workers,
                 .steps = 40,
                 .batch = 16,
                 .update = {.learning_rate = 0.1, .momentum = 0.9},
                 .deadline = {60}};
  run.problem = {
      .model = "mlp:hidden=32", .data = "digits", .workers = workers, .batch = 16, .seed = 3};
  run.engine.cluster.workers = workers;
  return run;
}

// On threads.
inline TrainResult train(
    const Setting& run, const StepObserver& observer = [](const StepRecord&) {}) {
  const auto launcher = make_threads_launcher(run.engine);
  return train(*launcher, *load_problem(run.problem), run.options, observer);
}

// For TrainOptions::resume.
inline std::function<NamedTensors(WorkerId)> states_in(const std::filesystem::path& directory) {
  const CheckpointFolder folder(directory);
  return [folder, info = folder.load_info()](WorkerId worker) {
    return folder.load_worker(info, worker);
  };
}

}  // namespace huddle
