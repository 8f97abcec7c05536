// `huddle bench train`: steps a second under every strategy, with a model of which only the size
// matters.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/base/units.h"
#include "huddle/cli/bench/bench_commands.h"
#include "huddle/cli/bench/bench_engine.h"
#include "huddle/cli/number_option.h"
#include "huddle/record/time_parts.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/timing.h"

namespace huddle {
namespace {

struct BenchTrainConfig {
  BenchEngine engine;
  std::vector<std::string> strategies;
  std::string model = "4MB";
  std::string compute = "2ms";
  int steps = 40;
  int samples = 3;
  double deadline = 300;
};

// What one strategy came to, run after run.
struct StrategyTimes {
  std::string strategy;
  std::vector<double> steps_per_second;  // Of each worker, on the mean.
  TimeSplit time;                        // Of all workers and runs.
  double bytes_per_step = 0;             // That a worker sends.

  double median() const {
    std::vector<double> ordered = steps_per_second;
    std::ranges::sort(ordered);
    return ordered[ordered.size() / 2];
  }
};

// Strategies that can run among these workers; of those that cannot, why.
struct Choice {
  std::vector<StrategyTimes> able;
  std::vector<std::string> unable;
};

Choice chosen(const BenchTrainConfig& config, const StrategySetting& setting) {
  Choice choice;
  for (const std::string& strategy : config.strategies) {
    prepare_strategy(strategy, setting);
    choice.able.push_back({strategy, {}, {}});
  }
  if (!config.strategies.empty()) return choice;
  for (const SpecInfo& info : known_strategies()) try {
      prepare_strategy(info.name, setting);
      choice.able.push_back({info.name, {}, {}});
    } catch (const UsageError& error) {
      choice.unable.push_back(concat(info.name, ": ", error.what()));
    }
  return choice;
}

void add_run(StrategyTimes& times, const Summary& run) {
  const double steps = static_cast<double>(run.steps_taken) / run.workers;
  times.steps_per_second.push_back(steps / run.seconds);
  for (const TimeSplit& worker : run.time) times.time += worker;
  times.bytes_per_step = run.bytes_sent_per_worker / steps;
}

void print_strategies(const BenchTrainConfig& config, const Choice& choice) {
  fmt::print(
      "A model of {} and {} of computation a step; {} workers, engine {}, {}.\n"
      "Median of {} runs of {} steps, in turns.\n\n",
      config.model, config.compute, config.engine.workers, config.engine.spec,
      machine_description(), config.samples, config.steps);
  const auto right = Table::Align::right;
  Table table({{.header = "strategy"},
               {.header = "steps a second", .align = right},
               {.header = "from"},
               {.header = "to"},
               {.header = "compute", .align = right},
               {.header = "wait", .align = right},
               {.header = "exchange", .align = right},
               {.header = "hidden", .align = right},
               {.header = "sent a step", .align = right}});
  for (const StrategyTimes& times : choice.able) {
    const auto [low, high] = std::ranges::minmax(times.steps_per_second);
    const double whole = times.time.compute + times.time.wait + times.time.exchange;
    std::vector<std::string> cells{times.strategy, format_rate(times.median()), format_rate(low),
                                   format_rate(high)};
    for (const auto& [name, part] : kTimeParts)
      cells.push_back(format_percent(whole > 0 ? times.time.*part / whole : 0));
    cells.push_back(format_bytes(times.bytes_per_step));
    table.add_row(std::move(cells));
  }
  fmt::print("{}", table.text());
  for (const std::string& why : choice.unable) fmt::print("left out: {}\n", why);
}

void print_strategies_json(const BenchTrainConfig& config, const Choice& choice) {
  nlohmann::json all = {{"workers", config.engine.workers},
                        {"engine", config.engine.spec},
                        {"machine", machine_description()},
                        {"model_bytes", parse_bytes("--model", config.model)},
                        {"compute_seconds", parse_seconds("--compute", config.compute)},
                        {"steps", config.steps},
                        {"left_out", choice.unable},
                        {"strategies", nlohmann::json::array()}};
  for (const StrategyTimes& times : choice.able) {
    nlohmann::json one = {{"strategy", times.strategy},
                          {"steps_per_second", times.steps_per_second},
                          {"bytes_sent_per_step", times.bytes_per_step}};
    for (const auto& [name, part] : kTimeParts) one["seconds"][name] = times.time.*part;
    all["strategies"].push_back(std::move(one));
  }
  fmt::print("{}\n", all.dump());
}

int bench_train(const CLI::App& command, BenchTrainConfig config) {
  const double bytes = parse_bytes("--model", config.model);
  if (bytes < 1e3 || bytes > 100e9)
    throw UsageError(concat("--model ", config.model, ": give a size from 1kB to 100GB, as 4MB."));
  const Seconds compute = parse_seconds("--compute", config.compute);
  check_engine(config.engine.spec);
  const BenchPlace place = take_place(command, config.engine);
  Cluster cluster;
  cluster.workers = config.engine.workers;
  cluster.compute_per_step = compute;
  cluster.validate();
  const UpdateOptions update{.learning_rate = 0.1, .momentum = 0.9};
  Choice choice = chosen(config, {.cluster = cluster, .update = update, .steps = config.steps});
  const auto launcher =
      place.start(cluster, concat("strategies ", joined(config.strategies, "; "), "\nmodel ",
                                  config.model, "\ncompute ", config.compute, "\nsteps ",
                                  config.steps, "\nsamples ", config.samples));
  const bool shows = place.is_first && isatty(STDERR_FILENO) == 1;
  for (int sample = 0; sample < config.samples; ++sample)
    for (StrategyTimes& times : choice.able) {
      if (shows)
        fmt::print(stderr, "\r\033[Krun {} of {}: {} ", sample + 1, config.samples, times.strategy);
      const TrainResult result =
          time_strategy(*launcher, bytes,
                        {.strategy = times.strategy,
                         .workers = cluster.workers,
                         .steps = config.steps,
                         .batch = 0,
                         .update = update,
                         .topology = std::make_shared<const Topology>(cluster.topology),
                         .compute = {cluster.compute_per_step, cluster.backward_share},
                         .deadline = {config.deadline}},
                        [](const StepRecord&) {});
      if (result.error) std::rethrow_exception(result.error);
      if (place.is_first) add_run(times, result.summary);
    }
  if (shows) fmt::print(stderr, "\r\033[K");
  if (place.is_first)
    (config.engine.as_json ? print_strategies_json : print_strategies)(config, choice);
  return 0;
}

}  // namespace

void add_bench_train_command(CLI::App& bench, int& status) {
  CLI::App* const command = bench.add_subcommand(
      "train", "Steps a second of every strategy, with a model of which only the size matters");
  command->footer(
      "Examples:\n"
      "  huddle bench train --workers 4\n"
      "  huddle launch -n 4 -- bench train --engine ucx --strategy bsp --strategy ds_sync\n"
      "  mpirun -n 4 huddle bench train --engine mpi --model 32MB --compute 20ms --json");
  const auto config = std::make_shared<BenchTrainConfig>();
  declare_engine(*command, config->engine);
  command->add_option("--strategy", config->strategies,
                      "one of those to time; may be given several times; default: all, each as it "
                      "is by default");
  command->add_option("--model", config->model, "its size, in float32")->capture_default_str();
  command->add_option("--compute", config->compute, "how long a step computes")
      ->capture_default_str();
  command->add_option("--steps", config->steps, "of each run")->capture_default_str();
  command->add_option("--samples", config->samples, "runs of each strategy, in turns")
      ->capture_default_str();
  command->add_option("--deadline", config->deadline, "seconds after which a wait is given up")
      ->capture_default_str();
  add_ranges(*command, std::vector<NumberOption>{
                           {.name = "--workers", .least = 2, .most = 1024, .example = "4"},
                           {.name = "--steps", .least = 1, .most = 1e6, .example = "40"},
                           {.name = "--samples", .least = 1, .most = 1000, .example = "3"},
                           {.name = "--deadline",
                            .kind = NumberOption::Kind::real,
                            .least = 0,
                            .most = 1e6,
                            .example = "60",
                            .ends = NumberOption::Ends::least_excluded}});
  command->callback([command, config, &status] { status = bench_train(*command, *config); });
}

}  // namespace huddle
