#include <CLI/CLI.hpp>

#include "huddle/cli/number_option.h"
#include "huddle/cli/train/train_config.h"

namespace huddle {
namespace {

using Number = NumberOption;

void declare_workload(CLI::App& command, TrainConfig& config) {
  const char* group = "What to train";
  command.add_option("--model", config.model, "mlp or cnn, with keys: `huddle list models`")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--data", config.data,
                  "digits (built in), mnist, fashion_mnist (tools/fetch_data.py), quadratic")
      ->group(group)
      ->capture_default_str();
  command.add_option("--data-dir", config.data_directory, "where fetched data is")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--split", config.split,
                  "how samples are dealt out: iid, fixed, dirichlet:0.5, skew:0.64, rare:3")
      ->group(group)
      ->capture_default_str();
  command
      .add_option(
          "--holdout", config.holdout,
          "judge by this share of the training samples, on which nobody trains then, instead "
          "of the test samples: for choosing settings; 0: none")
      ->group(group)
      ->capture_default_str();
  CLI::Option* steps =
      command.add_option("--steps", config.steps, "optimizer steps of each worker")
          ->group(group)
          ->capture_default_str();
  command.add_option("--epochs", config.epochs, "passes over the data, instead of --steps")
      ->group(group)
      ->excludes(steps);
  command.add_option("--batch", config.batch, "samples per worker and backward pass")
      ->group(group)
      ->capture_default_str();
  command.add_option("--accumulate", config.accumulate, "backward passes per step")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--swa-start", config.swa_start,
                  "step from which each worker keeps a running mean of its models; 0: never")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--swa-every", config.swa_every, "steps between models in that mean; 0: an epoch")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--seed", config.seed,
                  "of weights, data order and injected noise; equal seeds give equal bits")
      ->group(group)
      ->capture_default_str();
}

void declare_optimizer(CLI::App& command, TrainConfig& config) {
  const char* group = "How to update";
  command.add_option("--optimizer", config.optimizer, "sgd, adam or adamw")
      ->group(group)
      ->capture_default_str();
  command
      .add_flag("--keep-going", config.keep_going,
                "train on when the losses of 20 steps in a row are not finite, which ends a run "
                "otherwise")
      ->group(group);
  command.add_option("--lr", config.learning_rate, "learning rate")
      ->group(group)
      ->capture_default_str();
  command.add_option("--momentum", config.momentum, "of sgd")->group(group)->capture_default_str();
  command.add_flag("--nesterov", config.nesterov, "Nesterov momentum (sgd)")->group(group);
  command
      .add_option("--weight-decay", config.weight_decay, "L2 for sgd and adam, decoupled for adamw")
      ->group(group)
      ->capture_default_str();
  command.add_option("--clip", config.clip_norm, "largest norm of the gradients; 0: any")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--schedule", config.schedule,
                  "of the learning rate: constant, step:every=100, cosine:warmup=20; `huddle list "
                  "schedules`")
      ->group(group)
      ->capture_default_str();
}

void declare_files(CLI::App& command, TrainConfig& config) {
  const char* group = "What to keep";
  command.add_option("--out", config.out, "folder for summary.json and steps.jsonl")->group(group);
  command
      .add_option(
          "--timeline", config.timeline,
          "file for a trace of all workers, groups and links, to open in ui.perfetto.dev or "
          "chrome://tracing (docs/timeline.md)")
      ->group(group);
  command
      .add_option("--save", config.save,
                  "folder for checkpoints: consensus.pt for PyTorch, and every worker's state")
      ->group(group);
  command
      .add_option("--save-every", config.save_every, "steps between checkpoints; 0: one at the end")
      ->group(group)
      ->capture_default_str();
  command
      .add_flag("--replace", config.replace,
                "give up what an earlier run left where this one writes (never other files)")
      ->group(group);
  command
      .add_option("--resume", config.resume,
                  "go on from the checkpoint in this folder; its settings are taken over")
      ->group(group);
  command
      .add_option("--evaluate-every", config.evaluate_every,
                  "steps between models of the run that are judged after it; 0: only the last is")
      ->group(group)
      ->capture_default_str();
  command.add_flag("--quiet", config.quiet, "no progress, no closing table")->group(group);
  command.add_flag("--json", config.json, "print the summary as JSON instead of the closing table")
      ->group(group);
}

void declare_injection(CLI::App& command, TrainConfig& config) {
  const char* group = "The cluster: simulated (--engine sim) or injected in real time (seeded)";
  CLI::Option* const file =
      command
          .add_option("--cluster", config.cluster,
                      "a cluster file, as clusters/lan.toml (docs/clusters.md); takes the place of "
                      "the options below but --wire")
          ->group(group);
  command
      .add_option("--wire", config.wire,
                  "what the model counts for on the network, as 102.4MB (1kB to 100000GB); "
                  "default: what it is")
      ->group(group);
  command
      .add_flag("--timing-only", config.timing_only,
                "no values: a model of --wire bytes is timed, not trained (sim)")
      ->group(group);
  command
      .add_option(
          "--racks", config.racks,
          "racks x workers per rack, as 2x4, or the workers of each, as 4+4+2: who is near whom")
      ->group(group)
      ->excludes(file);
  command.add_option("--compute", config.compute, "compute time per step, as 10ms")
      ->group(group)
      ->excludes(file);
  command.add_option("--jitter", config.jitter, "relative spread of --compute, as 0.1")
      ->group(group)
      ->excludes(file);
  command
      .add_option("--slow", config.slow,
                  "WORKER:FACTOR for --compute, as 3:2.5; may be given several times")
      ->group(group)
      ->excludes(file);
  command
      .add_option("--latency", config.latency,
                  "of every link, as 0.5ms; averages then travel as messages")
      ->group(group)
      ->excludes(file);
  command.add_option("--bandwidth", config.bandwidth, "of every worker's link, as 1Gbps; likewise")
      ->group(group)
      ->excludes(file);
  command
      .add_option("--kill", config.kill,
                  "WORKER@STEP, as 2@50; 2@50+3 dies inside an exchange, after 3 operations")
      ->group(group)
      ->excludes(file);
}

}  // namespace

const std::vector<NumberOption>& train_numbers() {
  constexpr double kMost = 1e9;
  static const std::vector<NumberOption> numbers{
      {.name = "--workers", .least = 1, .most = 1e7, .example = "8"},
      {.name = "--deadline",
       .kind = Number::Kind::real,
       .most = kMost,
       .example = "300",
       .ends = Number::Ends::least_excluded},
      {.name = "--steps", .least = 1, .example = "300"},
      {.name = "--epochs",
       .kind = Number::Kind::real,
       .most = kMost,
       .example = "2",
       .ends = Number::Ends::least_excluded},
      {.name = "--holdout",
       .kind = Number::Kind::real,
       .most = 1,
       .example = "0.1",
       .ends = Number::Ends::most_excluded},
      {.name = "--batch", .least = 1, .example = "32"},
      {.name = "--accumulate", .least = 1, .most = 1e6, .example = "2"},
      {.name = "--swa-start", .example = "200"},
      {.name = "--swa-every", .example = "10"},
      {.name = "--seed", .most = 0x1p53, .example = "1"},
      {.name = "--lr",
       .kind = Number::Kind::real,
       .most = 1e6,
       .example = "0.1",
       .ends = Number::Ends::least_excluded},
      {.name = "--momentum",
       .kind = Number::Kind::real,
       .most = 1,
       .example = "0.9",
       .ends = Number::Ends::most_excluded},
      {.name = "--weight-decay", .kind = Number::Kind::real, .most = 1000, .example = "0.0005"},
      {.name = "--clip", .kind = Number::Kind::real, .most = kMost, .example = "1"},
      {.name = "--save-every", .example = "100"},
      {.name = "--evaluate-every", .example = "50"},
      {.name = "--jitter", .kind = Number::Kind::real, .most = 100, .example = "0.1"},
  };
  return numbers;
}

void declare_options(CLI::App& command, TrainConfig& config) {
  const char* group = "Who trains, and how they synchronise";
  command.add_option("--workers", config.workers, "how many workers")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--strategy", config.strategy,
                  "name:key=value,...; `huddle list strategies` shows all")
      ->group(group)
      ->capture_default_str();
  command.add_option("--engine", config.engine, "where workers run: `huddle list engines`")
      ->group(group)
      ->capture_default_str();
  command
      .add_option("--deadline", config.deadline,
                  "seconds after which a wait without progress is an error")
      ->group(group)
      ->capture_default_str();
  declare_workload(command, config);
  declare_optimizer(command, config);
  declare_files(command, config);
  declare_injection(command, config);
  add_ranges(command, train_numbers());
}

}  // namespace huddle
