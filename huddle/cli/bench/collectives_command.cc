// `huddle bench collectives`: what averages in changing groups cost here.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"
#include "huddle/base/units.h"
#include "huddle/cli/bench/bench_commands.h"
#include "huddle/cli/bench/bench_engine.h"
#include "huddle/cli/bench/collectives.h"
#include "huddle/cli/bench/collectives_page.h"
#include "huddle/cli/bench/contenders.h"
#include "huddle/cli/number_option.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"

namespace huddle {
namespace {

struct BenchCollectivesConfig {
  BenchEngine engine;
  std::vector<int> groups = {2, 4, 8};
  std::vector<std::string> sizes = {"4KiB", "64KiB", "256KiB", "1MiB", "4MiB", "32MiB"};
  double seconds = 0.2;
  int samples = 9;
  std::string gloo;
  std::string report;
};

CollectivesSetting setting_of(const BenchCollectivesConfig& config) {
  CollectivesSetting setting{.seconds = config.seconds, .samples = config.samples};
  for (const std::string& size : config.sizes) {
    const double bytes = parse_bytes("--sizes", size);
    if (bytes < 4 || bytes > 4e9)
      throw UsageError(concat("--sizes ", size, ": give sizes from 4B to 4GB, as 1MiB."));
    setting.bytes.push_back(static_cast<std::int64_t>(bytes) / 4 * 4);
  }
  for (const int group : config.groups)
    if (group >= 2 && group <= config.engine.workers && config.engine.workers % group == 0)
      setting.groups.push_back(group);
  if (setting.groups.empty())
    throw UsageError(concat("no group of --groups divides the ", config.engine.workers,
                            " workers; give for example --groups 2 with 4 workers."));
  return setting;
}

std::string heading(const BenchCollectivesConfig& config) {
  return fmt::format(
      "Averages of float32 in groups that change every time; {} workers, engine {}, {}. Median of "
      "{} samples in turns, each as its slowest worker has it.",
      config.engine.workers, config.engine.spec, machine_description(), config.samples);
}

void print_collectives(const BenchCollectivesConfig& config,
                       const std::vector<CollectiveTime>& times,
                       const std::vector<std::string>& left_out) {
  for (const std::string& line : wrapped(heading(config), 100)) fmt::print("{}\n", line);
  fmt::print("\n");
  const auto right = Table::Align::right;
  Table table({{.header = "group", .align = right},
               {.header = "size", .align = right},
               {.header = "way"},
               {.header = "time", .align = right},
               {.header = "80 % within"},
               {.header = "of a copy", .align = right},
               {.header = "huddle is", .align = right}});
  for (const std::span<const CollectiveTime> one : by_case(times)) {
    const Seconds huddle = median_of(one, kHuddle);
    for (const CollectiveTime& time : one)
      table.add_row(
          {std::to_string(time.group), format_bytes(static_cast<double>(time.bytes)),
           time.contender, format_seconds(time.median),
           concat(format_seconds(time.low), " to ", format_seconds(time.high)),
           fmt::format("{:.2f}", median_of(one, kCopy) / time.median),
           time.contender == kHuddle ? "" : fmt::format("{:.2f}x as fast", time.median / huddle)});
  }
  fmt::print("{}", table.text());
  for (const std::string& why : left_out) fmt::print("left out: {}\n", why);
}

void print_collectives_json(const BenchCollectivesConfig& config,
                            const std::vector<CollectiveTime>& times,
                            const std::vector<std::string>& left_out) {
  nlohmann::json all = {{"workers", config.engine.workers},
                        {"engine", config.engine.spec},
                        {"machine", machine_description()},
                        {"samples", config.samples},
                        {"left_out", left_out},
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

void write_page(const std::string& file, const std::string& page) {
  if (const std::error_code error = replace_file(file, {page}))
    throw UsageError(concat("--report ", file, " cannot be written: ", error.message()));
}

int bench_collectives(const CLI::App& command, BenchCollectivesConfig config) {
  // First: it begins MPI, where the engine would begin it for itself alone.
  std::vector<std::string> left_out;
  check_engine(config.engine.spec);
  const MakeContenders others = contenders_of({config.engine.spec, config.gloo}, left_out);
  const BenchPlace place = take_place(command, config.engine);
  const CollectivesSetting setting = setting_of(config);
  if (place.is_first && !config.report.empty()) write_page(config.report, "");  // It can be had.
  Cluster cluster;
  cluster.workers = config.engine.workers;
  cluster.validate();
  const auto launcher =
      place.start(cluster, concat("sizes ", joined(config.sizes), "\ngroups ",
                                  fmt::format("{}", fmt::join(setting.groups, ", ")), "\nsamples ",
                                  config.samples, "\nseconds ", config.seconds, "\ngloo ",
                                  config.gloo.empty() ? "no" : "yes"));
  int cases = 0;
  const bool shows = place.is_first && isatty(STDERR_FILENO) == 1;
  const std::vector<CollectiveTime> times =
      measure_collectives(*launcher, setting, others, [&](int of_cases) {
        if (shows) fmt::print(stderr, "\rmeasured {} of {} cases ", ++cases, of_cases);
      });
  if (!place.is_first) return 0;
  if (shows) fmt::print(stderr, "\r\033[K");
  if (!config.report.empty()) write_page(config.report, collectives_page(heading(config), times));
  (config.engine.as_json ? print_collectives_json : print_collectives)(config, times, left_out);
  return 0;
}

}  // namespace

void add_bench_collectives_command(CLI::App& bench, int& status) {
  CLI::App* const command = bench.add_subcommand(
      "collectives", "Averages in changing groups, beside a memory copy and other libraries");
  command->footer(
      "Beside Huddle are measured, in turns: a plain copy in memory, the limit; with --engine ucx "
      "a "
      "bare exchange of as many bytes; with --engine mpi MPI_Allreduce on a communicator that is "
      "kept for each group, and on one that is made each time; with --gloo the all-reduce of "
      "PyTorch.\n"
      "Examples:\n"
      "  huddle bench collectives --workers 4\n"
      "  huddle launch -n 4 -- bench collectives --engine ucx --gloo .venv/bin/python\n"
      "  mpirun -n 4 huddle bench collectives --engine mpi --sizes 256KiB,32MiB --json");
  const auto config = std::make_shared<BenchCollectivesConfig>();
  declare_engine(*command, config->engine);
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
  command->add_option("--gloo", config->gloo,
                      "a Python with PyTorch, whose Gloo takes part (all on this machine)");
  command->add_option("--report", config->report, "a page with a chart, as bench.html");
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
