#include "huddle/cli/train/train_check.h"

#include <algorithm>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/base/text.h"
#include "huddle/cli/train/train_options.h"
#include "huddle/train/data/dataset.h"
#include "huddle/train/learning_rate.h"

namespace huddle {
namespace {

using Mark = TrainOption::Mark;

// Those of the command line have been checked when it was parsed; those of a checkpoint have not.
void check_numbers(const TrainConfig& config) {
  const std::map<std::string, std::string> settings = settings_of(config);
  for (const TrainOption& option : all_train_options())
    if (option.is_number() && option.is(Mark::saved))
      if (const std::string mistake = mistake_in(option.range, settings.at(option.name));
          !mistake.empty())
        throw UsageError(concat(option.name, ": ", mistake, "."));
}

void check_paths(const CLI::App& command) {
  for (const TrainOption& option : all_train_options())
    if (option.is(Mark::folder) || option.is(Mark::file))
      require(command.count(option.name) == 0 ||
                  !command.get_option(option.name)->as<std::string>().empty(),
              concat(option.name, " is empty; name a ",
                     option.is(Mark::folder) ? "folder, as out/run." : "file."));
}

// An option that was given, and why it would do nothing.
struct Idle {
  const char* option;
  bool is_idle;
  std::string why;
};

void refuse_idle(const CLI::App& command, const std::vector<Idle>& options) {
  for (const Idle& each : options)
    require(!each.is_idle || command.count(each.option) == 0,
            concat(each.option, " would do nothing: ", each.why));
}

void check_idle(const CLI::App& command, const TrainConfig& config) {
  const std::string data = parse_spec(config.data).name;
  const bool is_closed_form = data == "quadratic";
  const std::string of_adam = concat("it belongs to --optimizer sgd, not to ", config.optimizer,
                                     "; leave it out, or choose sgd.");
  const bool is_adam = config.optimizer == "adam" || config.optimizer == "adamw";
  const std::string no_samples = "--data quadratic has no samples; leave it out.";
  const bool has_no_time = config.compute.empty() && !is_simulated(config.engine);
  const std::string of_compute =
      "it stretches the time of --compute, which is not given; add for example --compute 5ms.";
  const bool is_alone = !is_of_processes(config.engine);
  const std::string of_processes =
      concat("it belongs to workers that are processes; leave it out, or choose --engine ucx.");
  const bool is_mpi = parse_spec(config.engine).name == "mpi";
  const std::string of_ucx = "mpirun tells each process which worker it is; leave it out.";
  refuse_idle(command,
              {{"--rank", is_alone, of_processes},
               {"--store", is_alone, of_processes},
               {"--rank", is_mpi, of_ucx},
               {"--store", is_mpi, of_ucx},
               {"--rendezvous", is_alone, of_processes},
               {"--momentum", is_adam, of_adam},
               {"--nesterov", config.nesterov && is_adam, of_adam},
               {"--nesterov", config.nesterov && config.momentum == 0,
                "--momentum is 0; give for example --momentum 0.9."},
               {"--batch", is_closed_form, no_samples},
               {"--split", is_closed_form, no_samples},
               {"--holdout", is_closed_form, no_samples},
               {"--model", is_closed_form && config.resume.empty(),
                "--data quadratic has a model of its own; leave it out."},
               {"--data-dir", data == "digits" || is_closed_form,
                concat("--data ", data, " is built in; leave it out, or choose --data mnist.")},
               {"--swa-every", config.swa_every > 0 && config.swa_start == 0,
                "it needs --swa-start, the step to begin at, as --swa-start 200."},
               {"--save-every", config.save_every > 0 && config.save.empty(),
                "it needs --save, the folder to write to, as --save out/model."},
               {"--slow", has_no_time, of_compute},
               {"--jitter", has_no_time && config.jitter > 0, of_compute}});
}

}  // namespace

void require(bool condition, const std::string& message) {
  if (!condition) throw UsageError(message);
}

void check_named(const std::string& option, const std::string& value,
                 const std::function<void()>& check) {
  try {
    check();
  } catch (const UsageError& error) {
    throw UsageError(concat(option, " ", value, ": ", error.what()));
  }
}

void check_options(const CLI::App& command, const TrainConfig& config) {
  check_named("--engine", config.engine,
              [&] { find_info("engine", known_engines(), parse_spec(config.engine).name); });
  check_named("--data", config.data,
              [&] { find_info("data set", known_data(), parse_spec(config.data).name); });
  check_numbers(config);
  check_paths(command);
  check_idle(command, config);
}

void check_timing_options(const CLI::App& command) {
  for (const TrainOption& option : all_train_options())
    if (option.is(Mark::of_values) || option.is(Mark::of_length))
      require(
          command.count(option.name) == 0,
          concat(option.name, " would do nothing: --timing-only trains nothing; leave it out."));
}

void check_length(const TrainConfig& config) {
  require(config.steps <= kMostSteps,
          concat("--epochs ", config.epochs, " make ", config.steps,
                 " steps of this data; no run has more than ",
                 static_cast<std::int64_t>(kMostSteps), "; give for example --epochs 2."));
  check_named("--schedule", config.schedule,
              [&] { LearningRate(config.schedule, config.learning_rate, config.steps); });
  require(config.swa_start < config.steps,
          concat("--swa-start is ", config.swa_start, ", past the end of a run of ", config.steps,
                 " steps; ", config.steps * 3 / 4, " would leave the last quarter."));
  require(config.evaluate_every <= config.steps,
          concat("--evaluate-every is ", config.evaluate_every, ", past the end of a run of ",
                 config.steps, " steps; ", std::max<std::int64_t>(1, config.steps / 10),
                 " would judge it ten times."));
  require(config.save_every <= config.steps,
          concat("--save-every is ", config.save_every, ", past the end of a run of ", config.steps,
                 " steps; --save alone writes one checkpoint at the end."));
}

}  // namespace huddle
