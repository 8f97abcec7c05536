#include "huddle/api/process_environment.h"

#include <array>
#include <charconv>
#include <string_view>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr int kMostWorkers = 1 << 20;
constexpr std::size_t kLeastTokenLetters = 16;

// The variables by which each kind of launcher tells a process who it is.
struct KnownLauncher {
  const char* name;
  const char* rank;
  const char* workers;
  std::array<const char*, 2> job;  // Together the job's name; null: no more.
};

constexpr const char* kHuddle = "huddle launch";
constexpr std::array<KnownLauncher, 5> kLaunchers{{
    {kHuddle, "HUDDLE_RANK", "HUDDLE_WORKERS", {}},
    {"torchrun", "RANK", "WORLD_SIZE", {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE"}},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", {}},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
}};

// Empty: not set.
std::string value_of(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

int number_from(const Environment& environment, const char* name) {
  const std::string text = value_of(environment, name);
  int number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || after != text.data() + text.size() || number < 0 ||
      number > kMostWorkers)
    throw UsageError(concat(name, " is '", text, "', not a whole number from 0 to ", kMostWorkers,
                            "; start the process anew, or say --rank and --workers."));
  return number;
}

// The first launcher that has left its mark; null: none has.
const KnownLauncher* find_launcher(const Environment& environment) {
  for (const KnownLauncher& each : kLaunchers) {
    const bool has_rank = !value_of(environment, each.rank).empty();
    const bool has_workers = !value_of(environment, each.workers).empty();
    if (has_rank && has_workers) return &each;
    if (has_rank != has_workers)
      throw UsageError(concat(has_rank ? each.rank : each.workers, " is set, but ",
                              has_rank ? each.workers : each.rank, " is not: ", each.name,
                              " sets both. Start the process with it, or say --rank and "
                              "--workers."));
  }
  return nullptr;
}

void place_by_options(const TypedPlace& typed, ProcessPlace& place) {
  if (!typed.workers)
    throw UsageError(concat("--rank ", *typed.rank,
                            " says which worker this is, but not of how "
                            "many; add --workers, the same for all."));
  place.rank = *typed.rank;
  place.workers = *typed.workers;
  place.told_by = "--rank";
  if (place.rank < 0 || place.rank >= place.workers)
    throw UsageError(concat("--rank ", place.rank, " is not one of ", place.workers,
                            " workers, which are 0 to ", place.workers - 1, "."));
}

void place_by_launcher(const Environment& environment, const KnownLauncher& launcher,
                       const TypedPlace& typed, ProcessPlace& place) {
  place.rank = number_from(environment, launcher.rank);
  place.workers = number_from(environment, launcher.workers);
  place.told_by = launcher.name;
  if (place.rank >= place.workers)
    throw UsageError(concat(launcher.rank, " is ", place.rank, ", but with ", launcher.workers, " ",
                            place.workers, " the workers are 0 to ", place.workers - 1, "."));
  if (typed.workers && *typed.workers != place.workers)
    throw UsageError(concat("--workers ", *typed.workers, ", but ", launcher.name, " has started ",
                            place.workers, " (", launcher.workers, "); leave --workers out."));
}

std::optional<HostPort> master_of(const Environment& environment) {
  const std::string host = value_of(environment, "MASTER_ADDR");
  const std::string port = value_of(environment, "MASTER_PORT");
  if (host.empty() && port.empty()) return {};
  if (host.empty() || port.empty())
    throw UsageError(concat(host.empty() ? "MASTER_PORT" : "MASTER_ADDR", " is set, but ",
                            host.empty() ? "MASTER_ADDR" : "MASTER_PORT",
                            " is not; set both, or say --store HOST:PORT."));
  const bool is_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return parse_host_port("MASTER_ADDR:MASTER_PORT",
                         is_ipv6 ? concat('[', host, "]:", port) : concat(host, ':', port));
}

void find_store(const Environment& environment, const TypedPlace& typed, ProcessPlace& place) {
  // Somebody else's runs already; else worker 0 is to host one.
  bool is_hosted = false;
  if (!typed.store.empty()) {
    place.store = parse_host_port("--store", typed.store);
  } else if (const std::string own = value_of(environment, "HUDDLE_STORE"); !own.empty()) {
    place.store = parse_host_port("HUDDLE_STORE", own);
    is_hosted = place.told_by == kHuddle;
  } else {
    place.store = master_of(environment);
    is_hosted = value_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  }
  place.hosts_store = place.store && !is_hosted && place.rank == 0;
}

void find_token(const Environment& environment, const KnownLauncher* launcher,
                ProcessPlace& place) {
  place.token = value_of(environment, "HUDDLE_TOKEN");
  place.is_token_secret = !place.token.empty();
  if (place.is_token_secret && place.token.size() < kLeastTokenLetters)
    throw UsageError(concat("HUDDLE_TOKEN has ", place.token.size(),
                            " characters, which can be "
                            "guessed; give it ",
                            kLeastTokenLetters,
                            " or more, as `openssl rand -hex 16` prints them."));
  if (launcher == nullptr) return;
  // Beside a secret, too: torchrun may start a job anew in the store of its first attempt.
  for (const char* name : launcher->job)
    if (name != nullptr && !value_of(environment, name).empty())
      place.token += concat('/', value_of(environment, name));
}

}  // namespace

ProcessPlace process_place(const Environment& environment, const TypedPlace& typed,
                           StoreNeed need) {
  ProcessPlace place;
  // Whoever says --rank need not know what is in the environment.
  const KnownLauncher* const launcher = typed.rank ? nullptr : find_launcher(environment);
  if (typed.rank)
    place_by_options(typed, place);
  else if (launcher != nullptr)
    place_by_launcher(environment, *launcher, typed, place);
  else
    throw UsageError(
        "nothing tells this process which worker it is; start all of them with `huddle launch -n "
        "4 -- train ...`, mpirun, srun or torchrun, or each with --rank, --workers and --store.");
  find_store(environment, typed, place);
  if (need == StoreNeed::needed && !place.store)
    throw UsageError(concat(
        "nothing tells where the workers meet: ", place.told_by,
        " has no store for them; add "
        "--store HOST:PORT, an address of worker 0's machine that all can reach and a free port, "
        "or start them with huddle launch."));
  find_token(environment, launcher, place);
  return place;
}

std::optional<std::string> launcher_of(const Environment& environment) {
  const KnownLauncher* const launcher = find_launcher(environment);
  return launcher == nullptr ? std::nullopt : std::optional<std::string>(launcher->name);
}

}  // namespace huddle
