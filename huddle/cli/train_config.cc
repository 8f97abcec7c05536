#include "huddle/cli/train_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "huddle/cli/cluster_file.h"
#include "huddle/cli/engines.h"
#include "huddle/core/error.h"
#include "huddle/core/schedule_options.h"
#include "huddle/core/text.h"
#include "huddle/core/units.h"

namespace huddle {
namespace {

// The numbers in a text such as "3:2.5" or "2@50+4", which must have the form of `pattern` ("#"
// stands for a number); the last `optional` of them may be missing together with what stands before
// them.
std::vector<double> numbers_in(const char* option, const char* form, const std::string& text,
                               std::string_view pattern, int optional) {
  std::vector<double> numbers;
  const auto wanted = static_cast<int>(std::count(pattern.begin(), pattern.end(), '#'));
  const char* place = text.data();
  const char* const end = place + text.size();
  bool fits = true;
  for (const char symbol : pattern) {
    if (place == end && static_cast<int>(numbers.size()) >= wanted - optional) break;
    if (symbol == '#') {
      const auto [after, error] = std::from_chars(place, end, numbers.emplace_back());
      fits = fits && error == std::errc();
      place = after;
    } else {
      fits = fits && place != end && *place++ == symbol;
    }
    if (!fits) break;
  }
  if (!fits || place != end)
    throw UsageError(concat(option, ": '", text, "' is not of the form ", form, "."));
  return numbers;
}

// A number that must be whole and fit.
template <typename Integer>
Integer whole(const char* option, double number) {
  if (number != std::floor(number) || number < 0 ||
      number > std::numeric_limits<Integer>::max() / 2)
    throw UsageError(concat(option, ": ", number,
                            " is not a whole number that counts workers, steps or operations."));
  return static_cast<Integer>(number);
}

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
                  "what the model counts for on the network, as 102.4MB; default: what it is")
      ->group(group);
  command
      .add_flag("--timing-only", config.timing_only,
                "no values: a model of --wire bytes is timed, not trained (sim)")
      ->group(group);
  command
      .add_option("--racks", config.racks,
                  "racks x workers per rack, as 2x4: which workers are near one another")
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
}

namespace {

// Other options, another name: reports compare what is alike.
std::string name_of_options(const TrainConfig& config) {
  std::vector<std::string> parts;
  if (is_simulated(config.engine)) parts.emplace_back("plain LAN");
  const std::pair<const char*, std::string> options[] = {{"racks ", config.racks},
                                                         {"compute ", config.compute},
                                                         {"latency ", config.latency},
                                                         {"bandwidth ", config.bandwidth},
                                                         {"slow ", joined(config.slow, ", ")}};
  for (const auto& [name, value] : options)
    if (!value.empty()) parts.push_back(name + value);
  if (config.jitter > 0) parts.push_back(concat("jitter ", config.jitter));
  return joined(parts, ", ");
}

// What the options describe. In simulation nothing is free: without options it is a plain LAN, as
// in clusters/lan.toml.
Cluster cluster_of_options(const TrainConfig& config) {
  Cluster cluster;
  cluster.workers = config.workers;
  cluster.name = name_of_options(config);
  if (is_simulated(config.engine)) {
    cluster.nic_bytes_per_second = 1.25e9;
    cluster.latency_in_rack = 1e-4;
    cluster.compute_per_step = 0.035;
  }
  cluster.jitter = config.jitter;
  if (!config.racks.empty()) cluster.workers_per_rack = parse_racks(config.racks, config.workers);
  if (!config.compute.empty())
    cluster.compute_per_step = parse_seconds("--compute", config.compute);
  if (!config.latency.empty()) cluster.latency_in_rack = parse_seconds("--latency", config.latency);
  if (!config.bandwidth.empty())
    cluster.nic_bytes_per_second = parse_bandwidth("--bandwidth", config.bandwidth);
  cluster.latency_between_racks = cluster.latency_in_rack;
  for (const std::string& text : config.slow) {
    const std::vector<double> parts =
        numbers_in("--slow", "WORKER:FACTOR, as 3:2.5", text, "#:#", 0);
    cluster.slowdowns.push_back(
        {.worker = WorkerId{whole<int>("--slow", parts[0])}, .factor = parts[1]});
  }
  for (const std::string& text : config.kill) {
    const std::vector<double> parts = numbers_in(
        "--kill", "WORKER@STEP or WORKER@STEP+OPERATIONS, as 2@50 or 2@50+3", text, "#@#+#", 1);
    cluster.deaths.push_back(
        {.worker = WorkerId{whole<int>("--kill", parts[0])},
         .step = Step{whole<std::int64_t>("--kill", parts[1])},
         .after_operations = parts.size() > 2 ? whole<int>("--kill", parts[2]) : 0});
  }
  return cluster;
}

}  // namespace

Cluster cluster_of(const TrainConfig& config) {
  Cluster cluster =
      config.cluster.empty() ? cluster_of_options(config) : read_cluster_file(config.cluster);
  cluster.seed = static_cast<std::uint64_t>(config.seed);
  if (!config.wire.empty()) cluster.wire_bytes = parse_bytes("--wire", config.wire);
  cluster.validate();
  return cluster;
}

ProblemOptions problem_of(const TrainConfig& config) {
  std::filesystem::path directory = config.data_directory;
  const char* home = std::getenv("HOME");
  if (config.data_directory.starts_with("~/") && home != nullptr)
    directory = std::filesystem::path(home) / config.data_directory.substr(2);
  return {.model = config.model,
          .data = config.data,
          .data_directory = directory,
          .split = config.split,
          .workers = config.workers,
          .batch = config.batch,
          .seed = static_cast<std::uint64_t>(config.seed),
          .holdout = config.holdout};
}

UpdateOptions update_of(const TrainConfig& config) {
  static const std::vector<std::string> names{"sgd", "adam", "adamw"};
  const auto found = std::find(names.begin(), names.end(), config.optimizer);
  if (found == names.end()) throw UsageError(unknown_value("optimizer", config.optimizer, names));
  const auto kind = static_cast<UpdateOptions::Kind>(found - names.begin());
  const bool is_sgd = kind == UpdateOptions::Kind::sgd;
  if (!is_sgd && config.nesterov)
    throw UsageError(concat("--nesterov belongs to sgd, not to ", config.optimizer, "."));
  const UpdateOptions options{.kind = kind,
                              .learning_rate = config.learning_rate,
                              .weight_decay = config.weight_decay,
                              .momentum = is_sgd ? config.momentum : 0,
                              .nesterov = config.nesterov};
  UpdateRule{options};  // Throws where torch would.
  return options;
}

}  // namespace huddle
