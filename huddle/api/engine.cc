#include "huddle/api/engine.h"

#include <cstdlib>

#include "huddle/base/error.h"
#include "huddle/cluster/cluster_file.h"
#include "huddle/transport/process/launcher.h"
#include "huddle/transport/threads/launcher.h"
#ifdef HUDDLE_WITH_SIM
#include "huddle/transport/sim/launcher.h"
#endif

namespace huddle {
namespace {

constexpr const char* kNoSimulation =
    "this build has no engine 'sim', because SimGrid was missing when it was made: install "
    "libsimgrid-dev and build again, or use the engine 'threads'.";

#ifdef HUDDLE_WITH_SIM
constexpr bool kHasSimulation = true;

std::unique_ptr<Launcher> make_sim(const Cluster& cluster, const PayloadScale& payload_scale,
                                   const LinkLoadObserver& link_loads) {
  return make_sim_launcher(
      {.cluster = cluster, .payload_scale = payload_scale, .link_loads = link_loads});
}
#else
constexpr bool kHasSimulation = false;

std::unique_ptr<Launcher> make_sim(const Cluster&, const PayloadScale&, const LinkLoadObserver&) {
  throw UsageError(kNoSimulation);
}
#endif

}  // namespace

// The command line is not the only one to be started by `huddle launch`.
std::optional<std::string> environment_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<SpecInfo> known_engines() {
  return {{.name = "threads",
           .summary = "workers as threads of this process; links, slowness and deaths are injected "
                      "in real time",
           .keys = {{.name = "native",
                     .type = KeyInfo::Type::choice,
                     .fallback = "on",
                     .help = "on: averages go through shared memory; off: as messages. Same bits",
                     .choices = {"on", "off"}}}},
          {.name = "sim",
           .summary = "workers as actors of a simulated cluster: values are real, time is virtual"},
          {.name = "ucx",
           .summary = "workers as processes, over shared memory, TCP or RDMA (`huddle launch`, "
                      "torchrun, srun); outlives a process that is lost, where the strategy does"},
          {.name = "mpi",
           .summary =
               "workers as processes, over MPI (`mpirun`); a process that is lost ends the job"}};
}

bool has_simulation() { return kHasSimulation; }

Engine threads(int workers) {
  Engine engine;
  engine.cluster.workers = workers;
  engine.cluster.validate();
  return engine;
}

Engine threads(const std::filesystem::path& cluster_file) {
  return {"threads", read_cluster_file(cluster_file)};
}

Engine simulate(const std::filesystem::path& cluster_file) {
  if (!kHasSimulation) throw UsageError(kNoSimulation);
  return {"sim", read_cluster_file(cluster_file)};
}

Engine cluster(std::string_view engine) {
  const ProcessPlace place = place_of(engine, environment_variable, {});
  Engine made{.spec = std::string(engine), .place = place};
  made.cluster.workers = place.workers;
  return made;
}

Engine cluster_or(const Engine& alone) {
  return launcher_of(environment_variable) ? cluster() : alone;
}

bool is_simulated(std::string_view spec) { return parse_spec(spec).name == "sim"; }

std::vector<std::string> left_out_by_engine(std::string_view spec, const Cluster& cluster) {
  if (is_of_processes(spec)) return left_out_by_processes(cluster);
  return is_simulated(spec) ? std::vector<std::string>{} : left_out_by_threads(cluster);
}

void check_engine(std::string_view spec) {
  const Spec parsed = parse_spec(spec);
  Options("engine", find_info("engine", known_engines(), parsed.name), parsed);
  if (parsed.name == "sim" && !kHasSimulation) throw UsageError(kNoSimulation);
  check_built(spec);
}

std::unique_ptr<Launcher> make_engine(std::string_view spec, const Cluster& cluster,
                                      const PayloadScale& payload_scale,
                                      const LinkLoadObserver& link_loads,
                                      const std::optional<Job>& job) {
  const Spec parsed = parse_spec(spec);
  const Options options("engine", find_info("engine", known_engines(), parsed.name), parsed);
  if (parsed.name == "sim") return make_sim(cluster, payload_scale, link_loads);
  if (is_of_processes(spec)) {
    check(job.has_value(), "an engine of processes needs to know its job");
    return connect(spec, cluster, *job);
  }
  const bool shares_memory = options.text("native") == "on";
  return make_threads_launcher(
      {.cluster = cluster,
       .native = shares_memory ? ThreadsOptions::Native::on : ThreadsOptions::Native::off,
       .payload_scale = payload_scale});
}

}  // namespace huddle
