// `huddle bench collectives`: what averages in changing groups cost here.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "huddle/api/engine.h"
#include "huddle/api/job.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/base/units.h"
#include "huddle/cli/bench/collectives.h"
#include "huddle/cli/commands.h"
#include "huddle/cli/number_option.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"
#ifdef HUDDLE_WITH_MPI
#include "huddle/transport/mpi/mpi_reference.h"
#endif

namespace huddle {
namespace {

struct BenchConfig {
  std::string engine = "threads";
  int workers = 4;
  std::vector<int> groups = {2, 4, 8};
  std::vector<std::string> sizes = {"4KiB", "64KiB", "256KiB", "1MiB", "4MiB", "32MiB"};
  double seconds = 0.2;
  int samples = 9;
  bool as_json = false;
};

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

CollectivesPlan plan_of(const BenchConfig& config) {
  CollectivesPlan plan{.seconds = config.seconds, .samples = config.samples};
  for (const std::string& size : config.sizes) {
    const double bytes = parse_bytes("--sizes", size);
    if (bytes < 4 || bytes > 4e9)
      throw UsageError(concat("--sizes ", size, ": give sizes from 4B to 4GB, as 1MiB."));
    plan.bytes.push_back(static_cast<std::int64_t>(bytes) / 4 * 4);
  }
  for (const int group : config.groups)
    if (group <= config.workers && config.workers % group == 0) plan.groups.push_back(group);
  if (plan.groups.empty())
    throw UsageError(concat("no group of --groups divides the ", config.workers,
                            " workers; give for example --groups 2 with 4 workers."));
  return plan;
}

#ifdef HUDDLE_WITH_MPI
// What a user of MPI would call, where MPI can be called beside the engine.
std::vector<Contender> mpi_contenders() {
  const auto mpi = std::make_shared<MpiReference>();
  const auto contend = [mpi](auto sum) {
    return [mpi, sum](const Group& group, const at::Tensor& tensor) {
      std::vector<int> members;
      for (const WorkerId member : group) members.push_back(member.value);
      float* const values = tensor.mutable_data_ptr<float>();
      (*mpi.*sum)(members, values, tensor.numel());
      const float share = 1 / static_cast<float>(group.size());
      for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] *= share;
    };
  };
  return {{"MPI_Allreduce, communicator kept", contend(&MpiReference::sum_prebuilt)},
          {"MPI_Allreduce, communicator made", contend(&MpiReference::sum_created)}};
}
#endif

MakeContenders contenders_for([[maybe_unused]] const std::string& engine) {
#ifdef HUDDLE_WITH_MPI
  if (parse_spec(engine).name == "mpi" && begin_mpi_for_many_threads()) return mpi_contenders;
#endif
  return [] { return std::vector<Contender>(); };
}

std::string percent_spread(const CollectiveTime& time) {
  return fmt::format("{} to {}", format_seconds(time.low), format_seconds(time.high));
}

void print_text(const BenchConfig& config, const std::vector<CollectiveTime>& times) {
  fmt::print("Averages of float32 in groups that change every time; {} workers, engine {}, {}.\n",
             config.workers, config.engine, machine_description());
  fmt::print("Median of {} samples in turns, each as its slowest worker has it.\n\n",
             config.samples);
  const auto right = Table::Align::right;
  Table table({{.header = "group", .align = right},
               {.header = "size", .align = right},
               {.header = "way"},
               {.header = "time", .align = right},
               {.header = "80 % within"},
               {.header = "of a copy", .align = right},
               {.header = "huddle is", .align = right}});
  for (std::size_t i = 0; i < times.size();) {
    std::size_t end = i;
    while (end < times.size() && times[end].group == times[i].group &&
           times[end].bytes == times[i].bytes)
      ++end;
    const std::span<const CollectiveTime> one(&times[i], end - i);
    const auto of = [&](const char* name) {
      return std::ranges::find(one, name, &CollectiveTime::contender)->median;
    };
    for (const CollectiveTime& time : one)
      table.add_row({std::to_string(time.group), format_bytes(static_cast<double>(time.bytes)),
                     time.contender, format_seconds(time.median), percent_spread(time),
                     fmt::format("{:.2f}", of(kCopy) / time.median),
                     time.contender == kHuddle || time.contender == kCopy
                         ? ""
                         : fmt::format("{:.2f}x as fast", time.median / of(kHuddle))});
    i = end;
  }
  fmt::print("{}", table.text());
}

void print_json(const BenchConfig& config, const std::vector<CollectiveTime>& times) {
  nlohmann::json all = {{"workers", config.workers},
                        {"engine", config.engine},
                        {"machine", machine_description()},
                        {"samples", config.samples},
                        {"times", nlohmann::json::array()}};
  for (const CollectiveTime& time : times)
    all["times"].push_back({{"group", time.group},
                            {"bytes", time.bytes},
                            {"way", time.contender},
                            {"median_seconds", time.median},
                            {"low_seconds", time.low},
                            {"high_seconds", time.high}});
  fmt::print("{}\n", all.dump());
}

int bench_collectives(const CLI::App& command, BenchConfig config) {
  check_launcher(config.engine, variable);
  if (is_simulated(config.engine))
    throw UsageError(
        "--engine sim takes no real time, so there is nothing to measure: use threads, ucx or mpi; "
        "`huddle train --engine sim --timing-only` predicts times of a cluster.");
  const MakeContenders others = contenders_for(config.engine);
  std::optional<Job> job;
  if (is_of_processes(config.engine)) {
    TypedPlace typed;
    if (command.count("--workers") > 0) typed.workers = config.workers;
    job = Job{.place = place_of(config.engine, variable, typed)};
    config.workers = job->place.workers;
    job->terms = concat("Huddle ", HUDDLE_VERSION, "\nsizes ", joined(config.sizes), "\nsamples ",
                        config.samples, "\nseconds ", config.seconds);
  }
  const CollectivesPlan plan = plan_of(config);
  Cluster cluster;
  cluster.workers = config.workers;
  cluster.validate();
  const auto launcher = make_engine(config.engine, cluster, 1, {}, job);
  int cases = 0;
  const bool shows = isatty(STDERR_FILENO) == 1;
  const std::vector<CollectiveTime> times =
      measure_collectives(*launcher, plan, others, [&](int of_cases) {
        if (shows) fmt::print(stderr, "\rmeasured {} of {} cases ", ++cases, of_cases);
      });
  if (job && job->place.rank > 0) return 0;
  if (shows) fmt::print(stderr, "\r\033[K");
  (config.as_json ? print_json : print_text)(config, times);
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& program, int& status) {
  CLI::App* const bench =
      program.add_subcommand("bench", "Measures what communication costs on this machine");
  bench->require_subcommand(1);
  CLI::App* const command = bench->add_subcommand(
      "collectives", "Averages in changing groups, beside a memory copy and MPI's own all-reduce");
  command->footer(
      "Examples:\n"
      "  huddle bench collectives --workers 4\n"
      "  huddle launch -n 4 -- bench collectives --engine ucx\n"
      "  mpirun -n 4 huddle bench collectives --engine mpi --sizes 256KiB,32MiB --json");
  const auto config = std::make_shared<BenchConfig>();
  command->add_option("--engine", config->engine, "threads, ucx or mpi")->capture_default_str();
  command->add_option("--workers", config->workers, "how many; processes: as many as were started")
      ->capture_default_str();
  command->add_option("--groups", config->groups, "sizes of groups, those that divide the workers")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--sizes", config->sizes, "of the averaged tensor, 4B to 4GB")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--seconds", config->seconds, "how long a sample takes")
      ->capture_default_str();
  command->add_option("--samples", config->samples, "how many, of each way in turns")
      ->capture_default_str();
  command->add_flag("--json", config->as_json, "for programs: one JSON object");
  add_ranges(*command, std::vector<NumberOption>{
                           {.name = "--workers", .least = 2, .most = 1024, .example = "4"},
                           {.name = "--seconds",
                            .kind = NumberOption::Kind::real,
                            .least = 0,
                            .most = 60,
                            .example = "0.2",
                            .ends = NumberOption::Ends::least_excluded},
                           {.name = "--samples", .least = 1, .most = 1000, .example = "9"}});
  command->callback([command, config, &status] { status = bench_collectives(*command, *config); });
}

}  // namespace huddle
