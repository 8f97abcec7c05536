#include "huddle/cli/train/train_options.h"

#include <algorithm>
#include <type_traits>

namespace huddle {
namespace {

using Ends = NumberOption::Ends;

constexpr double kMost = 1e9;

// `example`: a value that works.
NumberOption range(double least, double most, const char* example, Ends ends = Ends::included) {
  return {.least = least, .most = most, .example = example, .ends = ends};
}

struct OptionTable {
  std::string group;
  std::vector<TrainOption> all;

  void add(const char* name, const TrainOption::Value& value, const char* help,
           const std::vector<TrainOption::Mark>& marks = {}, const NumberOption& numbers = {}) {
    all.push_back({name, value, group, help, marks, numbers});
  }
};

void add_workers(OptionTable& table) {
  using enum TrainOption::Mark;
  table.group = "Who trains, and how they synchronise";
  table.add("--workers", &TrainConfig::workers, "how many workers", {saved, not_compared},
            range(1, 1e7, "8"));
  table.add("--strategy", &TrainConfig::strategy,
            "name:key=value,...; `huddle list strategies` shows all", {saved, not_compared});
  table.add("--engine", &TrainConfig::engine, "where workers run: `huddle list engines`",
            {not_compared});
  table.add("--deadline", &TrainConfig::deadline,
            "seconds after which a wait without progress is an error", {},
            range(0, kMost, "300", Ends::least_excluded));
}

void add_processes(OptionTable& table) {
  using enum TrainOption::Mark;
  table.group =
      "Workers as processes (--engine ucx or mpi); `huddle launch`, torchrun, mpirun and "
      "srun say all of it";
  table.add("--rank", &TrainConfig::rank, "which worker this process is", {not_compared},
            range(0, 1e7, "2"));
  table.add("--store", &TrainConfig::store,
            "HOST:PORT of worker 0's machine, where processes find one another (ucx)",
            {not_compared});
  table.add("--rendezvous", &TrainConfig::rendezvous,
            "seconds that one waits for the other processes to come", {not_compared},
            range(0, kMost, "60", Ends::least_excluded));
}

void add_workload(OptionTable& table) {
  using enum TrainOption::Mark;
  table.group = "What to train";
  table.add("--model", &TrainConfig::model, "mlp or cnn, with keys: `huddle list models`",
            {saved, of_values});
  table.add("--data", &TrainConfig::data,
            "digits (built in), mnist, fashion_mnist (tools/fetch_data.py), quadratic",
            {saved, of_values});
  table.add("--data-dir", &TrainConfig::data_directory, "where fetched data is",
            {of_values, folder});
  table.add("--split", &TrainConfig::split,
            "how samples are dealt out: iid, fixed, dirichlet:0.5, skew:0.64, rare:3",
            {saved, of_values});
  table.add(
      "--holdout", &TrainConfig::holdout,
      "judge by this share of the training samples, on which nobody trains then, instead of the "
      "test samples: for choosing settings; 0: none",
      {saved, of_values}, range(0, 1, "0.1", Ends::most_excluded));
  table.add("--steps", &TrainConfig::steps, "optimizer steps of each worker", {saved},
            range(1, kMostSteps, "300"));
  table.add("--epochs", &TrainConfig::epochs, "passes over the data, instead of --steps",
            {of_length, not_with_steps}, range(0, kMost, "2", Ends::least_excluded));
  table.add("--batch", &TrainConfig::batch, "samples per worker and backward pass",
            {saved, of_values}, range(1, kMostSteps, "32"));
  table.add("--accumulate", &TrainConfig::accumulate, "backward passes per step",
            {saved, of_length}, range(1, 1e6, "2"));
  table.add("--swa-start", &TrainConfig::swa_start,
            "step from which each worker keeps a running mean of its models; 0: never",
            {saved, of_values}, range(0, kMostSteps, "200"));
  table.add("--swa-every", &TrainConfig::swa_every,
            "steps between models in that mean; 0: an epoch", {saved, of_values},
            range(0, kMostSteps, "10"));
  table.add("--seed", &TrainConfig::seed,
            "of weights, data order and injected noise; equal seeds give equal bits",
            {saved, not_compared}, range(0, 0x1p53, "1"));
}

void add_optimizer(OptionTable& table) {
  using enum TrainOption::Mark;
  table.group = "How to update";
  table.add("--optimizer", &TrainConfig::optimizer, "sgd, adam or adamw", {saved});
  table.add(
      "--keep-going", &TrainConfig::keep_going,
      "train on when the losses of 20 steps in a row are not finite, which ends a run otherwise",
      {of_values});
  table.add("--lr", &TrainConfig::learning_rate, "learning rate", {saved, of_values},
            range(0, 1e6, "0.1", Ends::least_excluded));
  table.add("--momentum", &TrainConfig::momentum, "of sgd", {saved},
            range(0, 1, "0.9", Ends::most_excluded));
  table.add("--nesterov", &TrainConfig::nesterov, "Nesterov momentum (sgd)", {saved, of_values});
  table.add("--weight-decay", &TrainConfig::weight_decay,
            "L2 for sgd and adam, decoupled for adamw", {saved, of_values},
            range(0, 1000, "0.0005"));
  table.add("--clip", &TrainConfig::clip_norm, "largest norm of the gradients; 0: any", {saved},
            range(0, kMost, "1"));
  table.add(
      "--schedule", &TrainConfig::schedule,
      "of the learning rate: constant, step:every=100, cosine:warmup=20; `huddle list schedules`",
      {saved, of_values});
}

void add_files(OptionTable& table) {
  using enum TrainOption::Mark;
  table.group = "What to keep";
  table.add("--out", &TrainConfig::out, "folder for summary.json and steps.jsonl",
            {not_compared, folder});
  table.add("--timeline", &TrainConfig::timeline,
            "file for a trace of all workers, groups and links, to open in ui.perfetto.dev or "
            "chrome://tracing (docs/timeline.md)",
            {not_compared, file});
  table.add("--save", &TrainConfig::save,
            "folder for checkpoints: consensus.pt for PyTorch, and every worker's state",
            {not_compared, of_values, folder});
  table.add("--save-every", &TrainConfig::save_every,
            "steps between checkpoints; 0: one at the end", {not_compared, of_values},
            range(0, kMostSteps, "100"));
  table.add("--replace", &TrainConfig::replace,
            "give up what an earlier run left where this one writes (never other files)",
            {not_compared});
  table.add("--resume", &TrainConfig::resume,
            "go on from the checkpoint in this folder; its settings are taken over",
            {not_compared, of_values, folder});
  table.add("--evaluate-every", &TrainConfig::evaluate_every,
            "steps between models of the run that are judged after it; 0: only the last is",
            {of_values}, range(0, kMostSteps, "50"));
  table.add("--quiet", &TrainConfig::quiet, "no progress, no closing table", {not_compared});
  table.add("--json", &TrainConfig::json, "print the summary as JSON instead of the closing table",
            {not_compared});
}

void add_cluster(OptionTable& table) {
  using enum TrainOption::Mark;
  table.group = "The cluster: simulated (--engine sim) or injected in real time (seeded)";
  table.add(
      "--cluster", &TrainConfig::cluster,
      "a cluster file, as clusters/lan.toml (docs/clusters.md); takes the place of the options "
      "below but --wire",
      {not_compared, file});
  table.add(
      "--wire", &TrainConfig::wire,
      "what the model counts for on the network, as 102.4MB (1kB to 100000GB); default: what it "
      "is");
  table.add("--timing-only", &TrainConfig::timing_only,
            "no values: a model of --wire bytes is timed, not trained");
  table.add("--racks", &TrainConfig::racks,
            "racks x workers per rack, as 2x4, or the workers of each, as 4+4+2: who is near whom",
            {saved, not_compared, not_with_cluster});
  table.add("--compute", &TrainConfig::compute, "compute time per step, as 10ms",
            {not_compared, not_with_cluster});
  table.add("--jitter", &TrainConfig::jitter, "relative spread of --compute, as 0.1",
            {not_compared, not_with_cluster}, range(0, 100, "0.1"));
  table.add("--slow", &TrainConfig::slow,
            "WORKER:FACTOR for --compute, as 3:2.5; may be given several times",
            {not_compared, not_with_cluster});
  table.add("--latency", &TrainConfig::latency,
            "of every link, as 0.5ms; averages then travel as messages",
            {not_compared, not_with_cluster});
  table.add("--bandwidth", &TrainConfig::bandwidth, "of every worker's link, as 1Gbps; likewise",
            {not_compared, not_with_cluster});
  table.add("--kill", &TrainConfig::kill,
            "WORKER@STEP, as 2@50; 2@50+3 dies inside an exchange, after 3 operations",
            {not_compared, not_with_cluster});
}

CLI::Option* declared(CLI::App& command, const TrainOption& option, TrainConfig& config) {
  return std::visit(
      [&](auto member) {
        if constexpr (std::is_same_v<decltype(member), bool TrainConfig::*>)
          return command.add_flag(option.name, config.*member, option.help);
        else
          return command.add_option(option.name, config.*member, option.help);
      },
      option.value);
}

}  // namespace

bool TrainOption::is(Mark mark) const {
  return std::find(marks.begin(), marks.end(), mark) != marks.end();
}

bool TrainOption::is_number() const { return !range.example.empty(); }

std::string TrainOption::key() const {
  std::string key = name.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

const std::vector<TrainOption>& all_train_options() {
  static const std::vector<TrainOption> options = [] {
    OptionTable table;
    for (const auto add :
         {add_workers, add_workload, add_optimizer, add_files, add_cluster, add_processes})
      add(table);
    for (TrainOption& option : table.all) {
      option.range.name = option.name;
      if (std::holds_alternative<double TrainConfig::*>(option.value))
        option.range.kind = NumberOption::Kind::real;
    }
    return table.all;
  }();
  return options;
}

void declare_options(CLI::App& command, TrainConfig& config) {
  std::vector<NumberOption> numbers;
  for (const TrainOption& option : all_train_options()) {
    CLI::Option* const added = declared(command, option, config)->group(option.group);
    // What stands in place of another option has no default of its own.
    if (option.is(TrainOption::Mark::not_with_steps))
      added->excludes(command.get_option("--steps"));
    else if (option.is(TrainOption::Mark::not_with_cluster))
      added->excludes(command.get_option("--cluster"));
    else if (added->get_expected_max() > 0)
      added->capture_default_str();
    if (option.is_number()) numbers.push_back(option.range);
  }
  add_ranges(command, numbers);
}

}  // namespace huddle
