#include "huddle/api/job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/sha256.h"
#include "huddle/base/spec.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/transport/process/launcher.h"
#include "huddle/transport/process/store.h"
#ifdef HUDDLE_WITH_UCX
#include "huddle/transport/ucx/ucx_wire.h"
#endif
#ifdef HUDDLE_WITH_MPI
#include "huddle/transport/mpi/mpi_wire.h"
#endif

namespace huddle {
namespace {

// What a process says in the store in place of its address when it does not come.
constexpr std::string_view kRefusal = "refused: ";

[[noreturn]] void refuse_missing(std::string_view engine, std::string_view library,
                                 std::string_view package) {
  throw UsageError(concat("this build has no engine '", engine, "', because ", library,
                          " was missing when it was made: install ", package,
                          " and build again, or use another engine (`huddle list engines`)."));
}

// Whoever lives as long as the launcher: the store of a job is needed until all have met.
class WithStore final : public Launcher {
 public:
  WithStore(std::unique_ptr<Launcher> launcher, std::unique_ptr<StoreHost> host)
      : host_(std::move(host)), launcher_(std::move(launcher)) {}

  std::vector<Loss> run(const std::function<void(Endpoint&)>& body) override {
    return launcher_->run(body);
  }
  bool is_here(WorkerId worker) const override { return launcher_->is_here(worker); }
  void on_report(Heard heard) override { launcher_->on_report(std::move(heard)); }
  void report(const std::string& report) override { launcher_->report(report); }
  void stop(const std::string& reason) override { launcher_->stop(reason); }

 private:
  const std::unique_ptr<StoreHost> host_;
  const std::unique_ptr<Launcher> launcher_;
};

#ifdef HUDDLE_WITH_MPI
constexpr int kUsageStatus = 2;
#endif

#ifdef HUDDLE_WITH_UCX
constexpr const char* kAddresses = "address";

// Why the one who hosts the store gives up, which all others say, too.
constexpr const char* kVerdict = "verdict";
constexpr Seconds kVerdictSeconds = 2;

// Tells all others this one's address and learns theirs.
std::vector<std::string> exchange(Store& store, const Job& job, const std::string& own) {
  const WorkerId self{job.place.rank};
  if (store.add(key_of("process", self)) > 1) {
    const std::string verdict =
        concat("two processes of this job say that they are worker ", self.value,
               ": give each a --rank of its own, from 0 to ", job.place.workers - 1,
               ", or have `huddle launch` start them.");
    store.set(kVerdict, verdict);  // The one who came first cannot know.
    throw UsageError(verdict);
  }
  const std::string count = concat(job.place.workers, " ");
  store.set(key_of(kAddresses, self), count + own);
  await_workers(store, kAddresses, job.place.workers, job.rendezvous, [&] {
    if (!store.has(kVerdict)) return;
    const std::string verdict = store.get(kVerdict, kVerdictSeconds);
    store.set(key_of("read", self), "");
    throw UsageError(verdict);
  });
  std::vector<std::string> addresses;
  for (int worker = 0; worker < job.place.workers; ++worker) {
    const std::string said = store.get(key_of(kAddresses, {worker}), job.rendezvous);
    if (said.starts_with(kRefusal))
      throw UsageError(
          concat("worker ", worker, " does not take part: ", said.substr(kRefusal.size())));
    if (!said.starts_with(count))
      throw UsageError(concat("the workers of this job disagree: worker ", self.value,
                              " has --workers ", job.place.workers, ", worker ", worker, " has ",
                              said.substr(0, said.find(' ')), "."));
    addresses.push_back(said.substr(count.size()));
  }
  return addresses;
}

// The host of the store gives up: it stays until all who have come know why.
void tell_verdict(Store& store, const Job& job, const std::string& verdict) {
  store.set(kVerdict, verdict);
  const Seconds end = steady_seconds() + kVerdictSeconds;
  for (int worker = 0; worker < job.place.workers; ++worker) {
    const WorkerId each{worker};
    if (worker == job.place.rank || !store.has(key_of(kAddresses, each))) continue;
    try {
      store.get(key_of("read", each), std::max(0.0, end - steady_seconds()));
    } catch (const Timeout&) {
      continue;  // It has found out by itself, or is gone.
    }
  }
}

std::unique_ptr<Launcher> connect_ucx(ProcessOptions options, const Job& job) {
  std::unique_ptr<StoreHost> host;
  if (job.place.hosts_store) host = std::make_unique<StoreHost>(*job.place.store);
  Store store(*job.place.store, job.place.token, job.rendezvous);
  const auto meet = [&](const std::string& own) {
    try {
      std::vector<std::string> addresses = exchange(store, job, own);
      // Of this meeting alone: what was recorded of another job with the same token says nothing.
      options.token = hex_of(sha256(concat(options.token, joined(addresses, " "))));
      return addresses;
    } catch (const UsageError& error) {
      if (host) tell_verdict(store, job, error.what());
      throw;
    } catch (const TransportError& error) {  // Nothing has begun.
      throw UsageError(concat("the workers of this job have not come together: ", error.what(),
                              " Worker 0 says why."));
    }
  };
  auto wire = make_ucx_wire(options.self, job.place.workers, meet);
  return std::make_unique<WithStore>(make_process_launcher(std::move(wire), std::move(options)),
                                     std::move(host));
}
#endif

}  // namespace

bool is_of_processes(std::string_view engine) {
  const std::string name = parse_spec(engine).name;
  return name == "ucx" || name == "mpi";
}

void check_launcher(std::string_view engine, const Environment& environment) {
  const std::string name = parse_spec(engine).name;
  if (launcher_of(environment) != "huddle launch" || name == "ucx") return;
  if (name == "mpi")
    throw UsageError(
        "--engine mpi is started by MPI: use mpirun in place of `huddle launch`, or --engine ucx.");
  throw UsageError(concat("`huddle launch` has started a process for each worker, and --engine ",
                          engine,
                          " would run all of them in each process: add --engine ucx, or "
                          "leave `huddle launch` out."));
}

void check_built([[maybe_unused]] std::string_view engine) {
#ifndef HUDDLE_WITH_MPI
  if (parse_spec(engine).name == "mpi") refuse_missing("mpi", "MPI", "libopenmpi-dev");
#endif
#ifndef HUDDLE_WITH_UCX
  if (parse_spec(engine).name == "ucx") refuse_missing("ucx", "UCX", "libucx-dev");
#endif
}

ProcessPlace place_of(std::string_view engine, const Environment& environment,
                      const TypedPlace& typed) {
  check_built(engine);
#ifdef HUDDLE_WITH_MPI
  if (parse_spec(engine).name == "mpi") {
    const MpiPlace own = mpi_place();
    if (typed.workers && *typed.workers != own.size)
      throw UsageError(concat("--workers is ", *typed.workers, ", but MPI has started ", own.size,
                              own.size == 1 ? " process" : " processes",
                              ": leave it out, or start ", "them with `mpirun -n ", *typed.workers,
                              "`."));
    return {.rank = own.rank, .workers = own.size, .told_by = "mpirun", .token = "mpi"};
  }
#endif
  return process_place(environment, typed, StoreNeed::needed);
}

std::unique_ptr<Launcher> connect(std::string_view engine, const Cluster& cluster, const Job& job) {
  [[maybe_unused]] ProcessOptions options{.self = {job.place.rank},
                                          .cluster = cluster,
                                          .token = job.place.token,
                                          .terms = job.terms,
                                          .startup = {job.rendezvous},
                                          .warn = job.warn};
#ifdef HUDDLE_WITH_MPI
  if (parse_spec(engine).name == "mpi")
    return make_process_launcher(make_mpi_wire(job.place.workers), std::move(options));
#endif
#ifdef HUDDLE_WITH_UCX
  if (parse_spec(engine).name == "ucx") return connect_ucx(std::move(options), job);
#endif
  refuse_missing(engine, "its library", "it");
}

void refuse([[maybe_unused]] std::string_view engine, [[maybe_unused]] const Job& job,
            [[maybe_unused]] const std::string& why) {
#ifdef HUDDLE_WITH_MPI
  if (parse_spec(engine).name == "mpi") return end_job_at_exit(kUsageStatus);
#endif
#ifdef HUDDLE_WITH_UCX
  if (parse_spec(engine).name != "ucx" || job.place.hosts_store) return;
  try {
    constexpr Seconds kPatience = 5;  // The store may be about to begin.
    Store store(*job.place.store, job.place.token, std::min(job.rendezvous, kPatience));
    store.set(key_of(kAddresses, {job.place.rank}), concat(kRefusal, why));
  } catch (const Error&) {
    return;  // Who cannot be told waits no longer than its own patience.
  }
#endif
}

}  // namespace huddle
