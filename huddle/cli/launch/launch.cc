// `huddle launch`: the workers of a run as processes, on this machine or on many, with one log and
// one exit status.

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/host_port.h"
#include "huddle/base/text.h"
#include "huddle/cli/commands.h"
#include "huddle/cli/launch/hosts_file.h"
#include "huddle/cli/launch/job.h"
#include "huddle/cli/launch/remote_command.h"
#include "huddle/cli/number_option.h"
#include "huddle/transport/process/sockets.h"
#include "huddle/transport/process/store.h"

namespace huddle {
namespace {

// The commands that are one worker each when they are launched.
const std::vector<std::string> kLaunchable{"train", "bench"};

constexpr int kMostWorkers = 1024;

struct LaunchConfig {
  int workers = 0;
  std::string hosts;
  std::string store_address;
  std::string program;
  double grace = 10;
  std::vector<std::string> command;  // What every worker runs: "train" and its options.
};

// Where the workers run and meet, and what they have in common.
struct Plan {
  std::string program;
  std::vector<std::string> hosts;  // Of each worker.
  bool is_on_one_machine = true;
  HostPort store;
  std::string token;
};

std::string own_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

constexpr const char* kExample = "for example huddle launch -n 4 -- train --engine ucx.";

void check_config(const CLI::App& command, const LaunchConfig& config) {
  if (config.workers == 0)
    throw UsageError(concat("say how many workers to launch with -n; ", kExample));
  if (config.command.empty()) throw UsageError(concat("say what to launch, after --; ", kExample));
  if (!is_among(kLaunchable, config.command.front()))
    throw UsageError(unknown_value("command to launch", config.command.front(), kLaunchable));
  for (const char* option : {"--hosts", "--store-address", "--program"})
    if (command.count(option) > 0 && command.get_option(option)->as<std::string>().empty())
      throw UsageError(concat(option, " is empty; leave it out, or give it a value."));
  if (config.store_address.starts_with("0.0.0.0") || config.store_address.starts_with("[::]"))
    throw UsageError(
        concat("--store-address ", config.store_address,
               " is every address of this machine, which "
               "lets in more than the job needs and tells workers nothing; name one of them."));
}

std::vector<std::string> hosts_of(const LaunchConfig& config) {
  if (config.hosts.empty())
    return std::vector<std::string>(static_cast<std::size_t>(config.workers), kThisHost);
  return place_workers(read_hosts(config.hosts, own_name()), config.workers, config.hosts);
}

// Its path here is its path everywhere.
std::string program_of(const LaunchConfig& config, const Plan& plan) {
  if (config.program.empty()) return std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string path = std::filesystem::absolute(config.program).lexically_normal().string();
  if (is_among(plan.hosts, kThisHost) && access(path.c_str(), X_OK) != 0)
    throw UsageError(concat("--program ", path, " is not a program that can be started here: ",
                            system_message(errno), "."));
  return path;
}

// Nothing listens beyond the interface that the job needs.
HostPort store_address_of(const LaunchConfig& config, const Plan& plan) {
  const std::string& typed = config.store_address;
  const bool has_port =
      std::ranges::count(typed, ':') == 1 || typed.find("]:") != std::string::npos;
  if (has_port) return parse_host_port("--store-address", typed);
  if (!typed.empty()) return {typed, 0};
  if (plan.is_on_one_machine) return {"127.0.0.1", 0};
  const std::string remote =
      *std::ranges::find_if(plan.hosts, [](const std::string& host) { return host != kThisHost; });
  return {address_towards(remote.substr(remote.find('@') + 1)), 0};
}

// 128 random bits, in hexadecimal digits.
std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(concat("the system has no random numbers: ", system_message(errno), "."));
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

void add_unless_set(std::vector<std::string>& variables, const std::string& name,
                    const std::string& value) {
  if (std::getenv(name.c_str()) == nullptr) variables.push_back(concat(name, '=', value));
}

std::vector<std::string> variables_of(const Plan& plan, int worker) {
  std::vector<std::string> variables{concat("HUDDLE_RANK=", worker),
                                     concat("HUDDLE_WORKERS=", plan.hosts.size()),
                                     concat("HUDDLE_STORE=", text_of(plan.store))};
  // Workers share the cores already; each would start as many threads as there are.
  add_unless_set(variables, "OMP_NUM_THREADS", "1");
  if (plan.is_on_one_machine) {  // Nothing listens where anybody else could speak to it.
    add_unless_set(variables, "UCX_TLS", "sm,self");
    add_unless_set(variables, "UCX_NET_DEVICES", "lo");
  }
  return variables;
}

WorkerStart start_here(const LaunchConfig& config, const Plan& plan, int worker) {
  WorkerStart start{.arguments = {plan.program}, .environment = variables_of(plan, worker)};
  start.environment.push_back("HUDDLE_TOKEN=" + plan.token);
  start.arguments.insert(start.arguments.end(), config.command.begin(), config.command.end());
  return start;
}

WorkerStart start_there(const LaunchConfig& config, const Plan& plan, int worker) {
  std::vector<std::string> variables = variables_of(plan, worker);
  // What the user has set for the job is meant for all of it.
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    if (variable.starts_with("UCX_") || variable.starts_with("OMP_")) variables.emplace_back(*each);
  }
  std::vector<std::string> arguments{plan.program};
  arguments.insert(arguments.end(), config.command.begin(), config.command.end());
  return {.arguments = remote_command({.host = plan.hosts[static_cast<std::size_t>(worker)],
                                       .directory = std::filesystem::current_path().string(),
                                       .environment = std::move(variables),
                                       .arguments = std::move(arguments)}),
          .remote_input = plan.token};
}

int launch(const CLI::App& command, const LaunchConfig& config) {
  check_config(command, config);
  Plan plan;
  plan.hosts = hosts_of(config);
  plan.program = program_of(config, plan);
  plan.is_on_one_machine = std::ranges::count(plan.hosts, kThisHost) == config.workers;
  hold_signals();
  // Here, so that it outlives every worker.
  const StoreHost store(store_address_of(config, plan));
  plan.store = store.place();
  plan.token = new_token();
  std::vector<WorkerStart> starts;
  for (int worker = 0; worker < config.workers; ++worker)
    starts.push_back(plan.hosts[static_cast<std::size_t>(worker)] == kThisHost
                         ? start_here(config, plan, worker)
                         : start_there(config, plan, worker));
  const bool draws = isatty(STDERR_FILENO) == 1 && !starts.front().is_remote();
  const JobEnd job = run_job(
      starts,
      {.grace = config.grace, .worker_0 = draws ? ErrorStream::terminal : ErrorStream::pipe});
  for (const std::string& words : closing_words(job)) fmt::print(stderr, "huddle: {}\n", words);
  return exit_status_of(job);
}

}  // namespace

void add_launch_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand(
      "launch", "Starts the workers of a run as processes, on one machine or on many");
  command->footer(
      "Examples:\n"
      "  huddle launch -n 4 -- train --engine ucx --strategy ds_sync\n"
      "  huddle launch -n 8 --hosts hosts.txt -- train --engine ucx --strategy p_reduce:group=2\n"
      "A hosts file has a line for each machine, as 'node1 slots=4'. Others than this one are "
      "reached by ssh,\nwithout a password, and have `huddle` and this folder at the same paths.\n"
      "Each process is one worker and learns from its environment which: HUDDLE_RANK, "
      "HUDDLE_WORKERS,\nHUDDLE_STORE (where they meet) and HUDDLE_TOKEN (a secret of this job). "
      "The log shows what worker 0\nsays as it is, and [3] in front of the lines of worker 3. "
      "Ctrl-C ends all in good order, a second one\nat once.\n"
      "Exit status: 0 worker 0 finished, 1 the run failed, 2 wrong usage (nothing was run), 130 "
      "interrupted.\nOther ways to start: srun, mpirun, torchrun; see docs/clusters.md.");
  const auto config = std::make_shared<LaunchConfig>();
  command->add_option("-n", config->workers, "how many workers, each a process");
  command->add_option("--hosts", config->hosts,
                      "a file that says where they run; default: all on this machine");
  command->add_option("--store-address", config->store_address,
                      "the address of this machine, and a port if need be, at which workers find "
                      "one another; default: 127.0.0.1, or the one that leads to the other hosts");
  command->add_option("--program", config->program,
                      "the `huddle` to start, the same path on every machine; default: this one");
  command
      ->add_option("--grace", config->grace,
                   "seconds that workers have to end when worker 0 has ended")
      ->capture_default_str();
  command->add_option("COMMAND", config->command,
                      "after --, what each of them runs: train and its options");
  add_ranges(
      *command,
      std::vector<NumberOption>{
          {.name = "-n", .least = 1, .most = kMostWorkers, .example = "4"},
          {.name = "--grace", .kind = NumberOption::Kind::real, .most = 1e6, .example = "10"}});
  command->callback([command, config, &status] { status = launch(*command, *config); });
}

}  // namespace huddle
