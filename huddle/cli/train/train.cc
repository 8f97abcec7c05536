// `huddle train`: one run, from the command line to the closing table.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "huddle/api/engine.h"
#include "huddle/api/job.h"
#include "huddle/api/run_outputs.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/cli/commands.h"
#include "huddle/cli/interrupt.h"
#include "huddle/cli/memory.h"
#include "huddle/cli/stopper.h"
#include "huddle/cli/train/train_check.h"
#include "huddle/cli/train/train_config.h"
#include "huddle/cli/train/train_options.h"
#include "huddle/cli/train/train_outputs.h"
#include "huddle/compare/scenario/children.h"
#include "huddle/compare/scenario/comparison_plan.h"
#include "huddle/report/progress.h"
#include "huddle/report/run_files.h"
#include "huddle/report/table.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/checkpoint/shared_folder.h"
#include "huddle/train/logged_run.h"
#include "huddle/train/timing.h"

namespace huddle {
namespace {

// Everything a run needs, checked.
struct PreparedRun {
  std::optional<Job> job;  // Of which this process is a part.
  bool has_come = false;   // The others have heard of this process.
  Cluster cluster;
  TrainOptions options;
  std::unique_ptr<Problem> problem;
  std::unique_ptr<Launcher> launcher;
  std::unique_ptr<RunOutputs> outputs;
};

TrainOptions options_of(const TrainConfig& config, const PreparedRun& run,
                        const UpdateOptions& update, double payload_scale) {
  const std::int64_t steps_per_epoch = run.problem ? run.problem->steps_per_epoch() : 1;
  return {.strategy = config.strategy,
          .workers = config.workers,
          .steps = config.steps,
          .batch = config.timing_only ? 0 : config.batch,
          .accumulate = config.accumulate,
          .update = update,
          .clip_norm = config.clip_norm,
          .schedule = config.schedule,
          .topology = std::make_shared<const Topology>(run.cluster.topology),
          .compute = {run.cluster.compute_per_step, run.cluster.backward_share},
          .payload_scale = payload_scale,
          .deadline = {config.deadline},
          .evaluate_every = config.evaluate_every,
          .swa_start = config.swa_start,
          .swa_every = config.swa_every > 0 ? config.swa_every : steps_per_epoch,
          .keep_going = config.keep_going,
          .save_every = config.save_every,
          .saved_settings = settings_of(config)};
}

bool has_own_pace(const TrainConfig& config) {
  return traits_of(config.strategy).pace == Pace::own;
}

// Throws UsageError unless the run fits into memory. `model_bytes`: 0 while it is not known.
void check_fits(const TrainConfig& config, const Cluster& cluster, double model_bytes) {
  const bool has_numbers = !config.timing_only || !is_simulated(config.engine);
  MemoryNeed need{
      .engine = is_simulated(config.engine) ? MemoryNeed::Engine::sim : MemoryNeed::Engine::threads,
      .values = has_numbers ? MemoryNeed::Values::trained : MemoryNeed::Values::timed,
      .workers = is_of_processes(config.engine) ? 1 : config.workers,
      .model_bytes = has_numbers ? model_bytes : 0,
      .models = config.evaluate_every > 0 ? config.steps / config.evaluate_every + 1 : 0};
  add_strategy(need, config.strategy, cluster);
  check_memory(need, free_bytes());
}

// Takes from the cluster what the options left open. Throws UsageError where the two disagree.
void adopt_cluster(const CLI::App& command, TrainConfig& config, const Cluster& cluster) {
  require(command.count("--workers") == 0 || config.cluster.empty() ||
              config.workers == cluster.workers,
          concat("--workers is ", config.workers, ", but ", config.cluster, " has ",
                 cluster.workers, " workers; leave the option out."));
  config.workers = cluster.workers;
  const std::string racks = racks_text(cluster.topology);
  require(
      config.resume.empty() || config.cluster.empty() || racks == config.racks,
      concat(config.cluster, " has racks ", racks.empty() ? "none" : racks, ", the checkpoint in ",
             config.resume, " was made with ", config.racks.empty() ? "none" : config.racks, "."));
  config.racks = racks;
  for (const Death& death : cluster.deaths)
    require(!config.cluster.empty() || config.epochs > 0 || death.step.value < config.steps,
            concat("--kill names step ", death.step.value, ", but the run has only ", config.steps,
                   "; name for example step ", config.steps / 2, "."));
}

// What all processes of a run must have in common.
std::string terms_of(const TrainConfig& config) {
  std::string terms = concat("Huddle ", HUDDLE_VERSION, "\n");
  for (const auto& [option, value] : common_settings_of(config))
    terms += concat(option, " ", value.empty() ? "(none)" : value, "\n");
  return terms;
}

// Where workers are processes: which one this is. Only that of worker 0 speaks and writes.
void take_place(const CLI::App& command, TrainConfig& config, PreparedRun& run) {
  TypedPlace typed{.store = config.store};
  if (command.count("--rank") > 0) typed.rank = config.rank;
  if (command.count("--workers") > 0) typed.workers = config.workers;
  const ProcessPlace place = place_of(config.engine, environment_variable, typed);
  require(config.resume.empty() || config.workers == place.workers,
          concat("the checkpoint in ", config.resume, " has ", config.workers,
                 " workers, and this job ", place.workers, " processes; start as many."));
  config.workers = place.workers;
  run.job =
      Job{.place = place, .rendezvous = config.rendezvous, .warn = [](const std::string& warning) {
            fmt::print(stderr, "huddle: {}.\n", warning);
          }};
  if (place.rank == 0 && place.store && !place.is_token_secret && !config.quiet)
    fmt::print(stderr,
               "huddle: this job has no secret token, so whoever reaches its ports can take part; "
               "HUDDLE_TOKEN gives one (docs/clusters.md).\n");
  if (place.rank == 0) return;
  config.quiet = true;
  config.json = false;
  config.out.clear();
}

void check_processes(const TrainConfig& config, const Cluster& cluster, int processes) {
  require(cluster.workers == processes,
          concat(config.cluster, " has ", cluster.workers, " workers, and this job ", processes,
                 " processes: start as many, one for each."));
}

// `resumed`: the checkpoint that the run goes on from, if it does.
void prepare(const CLI::App& command, TrainConfig& config, PreparedRun& run,
             const std::optional<CheckpointInfo>& resumed) {
  if (config.timing_only) check_timing_options(command);
  check_options(command, config);
  check_launcher(config.engine, environment_variable);
  if (is_of_processes(config.engine)) take_place(command, config, run);
  const bool writes = !run.job || run.job->place.rank == 0;
  if (writes) check_outputs(config);
  run.cluster = cluster_of(config);
  adopt_cluster(command, config, run.cluster);
  if (run.job) check_processes(config, run.cluster, run.job->place.workers);
  check_named("--strategy", config.strategy, [&] { traits_of(config.strategy); });
  check_fits(config, run.cluster, 0);
  const UpdateOptions update = update_of(config);
  const auto check_with_steps = [&](std::int64_t steps) {
    check_named("--strategy", config.strategy, [&] {
      prepare_strategy(config.strategy, {run.cluster, update, config.clip_norm, steps});
    });
  };
  check_with_steps(config.epochs > 0 ? 0 : config.steps);  // Of epochs, only the data tells.
  require(config.save_every == 0 || !has_own_pace(config),
          concat("--save-every does not go with ", config.strategy,
                 ", whose workers are never all at one step; --save alone writes a checkpoint at "
                 "the end."));
  require(!config.timing_only || run.cluster.wire_bytes > 0,
          "--timing-only needs the size of the model: --wire, as 102.4MB, or wire in the cluster "
          "file.");
  if (!config.timing_only) run.problem = load_problem(problem_of(config));
  const double model_bytes = run.problem ? parameter_bytes(*run.problem) : run.cluster.wire_bytes;
  const double payload_scale =
      run.problem && run.cluster.wire_bytes > 0 ? run.cluster.wire_bytes / model_bytes : 1;
  run.outputs =
      std::make_unique<RunOutputs>(RunOutputs::Places{config.out, writes ? config.timeline : ""});
  if (config.epochs > 0)
    config.steps = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(config.epochs *
                                     static_cast<double>(run.problem->steps_per_epoch()) /
                                     config.accumulate));
  check_with_steps(config.steps);
  if (resumed) check_settled(config, *resumed, {.cluster = run.cluster, .update = update});
  check_length(config);
  check_fits(config, run.cluster, model_bytes);
  require(!resumed || resumed->step < config.steps,
          concat("the checkpoint in ", config.resume, " has done ", resumed ? resumed->step : 0,
                 " steps already; give more by --steps or --epochs, as --steps ",
                 resumed ? 2 * resumed->step : 0, "."));
  run.options = options_of(config, run, update, payload_scale);
  if (resumed)
    run.options.resume = [folder = CheckpointFolder(config.resume), info = *resumed](
                             WorkerId worker) { return folder.load_worker(info, worker); };
  run.options.keeps_blocked = !config.timeline.empty();
  if (!config.save.empty()) run.options.save.emplace(config.save);
  if (!config.save.empty() && writes) run.options.save->prepare();
  if (run.job) run.job->terms = terms_of(config);
  run.has_come = true;
  run.launcher =
      make_engine(config.engine, run.cluster, payload_scale, run.outputs->link_loads(), run.job);
  if (run.job && !config.save.empty()) require_shared(*run.launcher, config.save, "--save");
}

// Throws UsageError for whatever cannot work; nothing has been trained by then.
void prepare(const CLI::App& command, TrainConfig& config, PreparedRun& run) {
  if (config.resume.empty()) return prepare(command, config, run, std::nullopt);
  const CheckpointInfo resumed = adopt_checkpoint(command, config);
  CheckpointFolder(config.resume).verify(resumed);
  try {
    prepare(command, config, run, resumed);
  } catch (const UsageError& error) {
    const std::string_view what = error.what();
    for (const char* typed : {"--out", "--save", "--timeline"})
      if (what.starts_with(typed)) throw;
    throw UsageError(concat(what, " Options that were not typed are those of ", config.resume, "/",
                            kCheckpointIndex, "."));
  }
}

// The fields that the trainer does not know.
void complete(Summary& summary, const TrainConfig& config, std::string status) {
  summary.engine = config.engine;
  if (config.timing_only) {
    summary.model = "none: timing only";
  } else {
    summary.model = parse_spec(config.data).name == "quadratic" ? "quadratic" : config.model;
    summary.data = config.data;
    summary.split = config.split;
  }
  summary.optimizer = config.optimizer;
  summary.seed = static_cast<std::uint64_t>(config.seed);
  summary.status = std::move(status);
}

// What there is to go on from, for a run that ended before its time.
void tell_of_checkpoints(const CLI::App& command, const TrainConfig& config) {
  const CheckpointFolder folder(config.save);
  if (has_own_pace(config))
    fmt::print(
        stderr,
        "huddle: the workers of {} are never all at one step, so there is no checkpoint of a "
        "run that is not over.\n",
        parse_spec(config.strategy).name);
  if (!folder.holds_one()) {
    fmt::print(stderr, "huddle: no checkpoint was written{}.\n",
               has_own_pace(config) ? "" : "; --save-every N keeps some on the way");
    return;
  }
  const std::int64_t step = folder.load_info().step;
  std::vector<std::string> words{"huddle"};
  const std::string engine = parse_spec(config.engine).name;
  const std::string workers = std::to_string(config.workers);
  if (engine == "ucx") words.insert(words.end(), {"launch", "-n", workers, "--"});
  if (engine == "mpi") words.insert(words.begin(), {"mpirun", "-n", workers});
  words.insert(words.end(), {"train", "--resume", config.save, "--save", config.save});
  for (std::string& word : not_in_checkpoint(command)) words.push_back(std::move(word));
  fmt::print(stderr, "huddle: {} has the checkpoint of step {}{}; go on with: {}\n", config.save,
             step, step < config.steps ? "" : ", the last", shell_text(words));
}

// What this machine and engine cannot do for the run.
void tell_limits(const TrainConfig& config, const Cluster& cluster) {
  if (const auto left_out = left_out_by_engine(config.engine, cluster); !left_out.empty())
    fmt::print(stderr, "huddle: the engine {} leaves out of this cluster: {}.\n", config.engine,
               joined(left_out, ", "));
  const int cores = usable_cores();
  if (!config.quiet && !is_of_processes(config.engine) && !is_simulated(config.engine) &&
      config.workers > cores)
    fmt::print(
        stderr,
        "huddle: {} workers share {} cores, so times are not those of workers with a machine "
        "each; --engine sim tells those.\n",
        config.workers, cores);
}

int train_command(const CLI::App& command, TrainConfig config) {
  Stopper stopper;
  const InterruptWatcher watcher([&] { stopper.ask(); }, [&] { stopper.insist(); });
  PreparedRun run;
  try {
    prepare(command, config, run);
  } catch (const UsageError& error) {
    if (run.job && !run.has_come) refuse(config.engine, *run.job, error.what());
    throw;
  }
  tell_limits(config, run.cluster);
  run.options.gate = &stopper.gate();
  stopper.begin(*run.launcher, !config.save.empty() && !has_own_pace(config) && !run.job
                                   ? Stopper::Ending::at_one_step
                                   : Stopper::Ending::at_once);
  // From here on an interrupted run has files, and leaves them whole.
  try {
    run.outputs->open({config.engine, run.cluster}, config.strategy, run.options);
  } catch (...) {
    stopper.end();
    throw;
  }
  std::optional<Progress> progress;
  progress.emplace(stderr, config.steps,
                   config.quiet ? ProgressMode::quiet : progress_mode(stderr));
  const auto observer = [&](const StepRecord& record) {
    run.outputs->add(record);
    if (record.worker == WorkerId{0})
      progress->update(std::llround(record.progress),
                       config.timing_only ? std::nullopt : std::optional(record.loss));
  };
  run.options.evaluated = [&](std::int64_t models, std::int64_t of) {
    progress->evaluated(models, of);
  };
  TrainResult result =
      config.timing_only
          ? time_strategy(*run.launcher, run.cluster.wire_bytes, run.options, observer)
          : train(*run.launcher, *run.problem, run.options, observer);
  progress.reset();
  stopper.end();
  const Ending ending = ending_of(result.error);
  complete(result.summary, config, ending.status);
  if (is_simulated(config.engine)) result.summary.network = name_of(run.cluster.network_model);
  result.summary.cluster = run.cluster.name;
  if (!config.wire.empty() && !result.summary.cluster.empty())
    result.summary.cluster += concat(", wire ", config.wire);
  run.outputs->close(result.summary);
  const bool is_first = !run.job || run.job->place.rank == 0;
  if (config.json)
    fmt::print("{}\n", summary_json(result.summary, HUDDLE_VERSION));
  else if (!config.quiet)
    print_summary(stdout, result.summary);
  if (!ending.message.empty()) fmt::print(stderr, "huddle: {}\n", ending.message);
  const bool is_interrupted = ending.status == "interrupted";
  if (is_first && (is_interrupted || ending.status == "diverged") && run.options.save)
    tell_of_checkpoints(command, config);
  return is_interrupted ? 130 : result.error ? 1 : 0;
}

}  // namespace

void add_train_command(CLI::App& program, int& status) {
  CLI::App* command =
      program.add_subcommand("train", "Trains a model on many workers under one strategy");
  command->footer(
      "Examples:\n"
      "  huddle train --workers 8 --strategy bsp --data digits\n"
      "  huddle train --workers 8 --strategy bsp:algorithm=ring,buckets=4 --compute 5ms --slow 3:2 "
      "--out out/run\n"
      "  huddle train --workers 4 --data fashion_mnist --model cnn --epochs 2 --save "
      "out/checkpoint --save-every 100\n"
      "  huddle train --resume out/checkpoint\n"
      "  huddle train --engine sim --cluster clusters/oversubscribed_racks.toml --strategy "
      "ds_sync\n"
      "  huddle train --engine sim --workers 1024 --strategy sesgd --timing-only --wire 102.4MB\n"
      "  huddle train --engine sim --strategy ds_sync --steps 50 --timeline timeline.json\n"
      "Exit status: 0 done, 1 the run failed or diverged, 2 wrong usage (nothing was run), 130 "
      "interrupted.");
  const auto config = std::make_shared<TrainConfig>();
  declare_options(*command, *config);
  command->callback([command, config, &status] { status = train_command(*command, *config); });
}

}  // namespace huddle
