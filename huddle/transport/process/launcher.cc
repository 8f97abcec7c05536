#include "huddle/transport/process/launcher.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "huddle/base/text.h"
#include "huddle/cluster/network.h"
#include "huddle/transport/local/crew.h"
#include "huddle/transport/process/agreement.h"
#include "huddle/transport/process/post_office.h"
#include "huddle/transport/process/report_reader.h"
#include "huddle/transport/process/scheduler.h"

namespace huddle {
namespace {

// How long words that have been said may take to leave, once everybody has ended,
constexpr Seconds kLastWords = 5;

// and how long one waits for others to end where the run has failed, so that they are about to.
constexpr Seconds kGrace = 2;

// Only what concerns this worker is injected here.
Cluster own_part(Cluster cluster, WorkerId self) {
  std::erase_if(cluster.deaths, [&](const Death& death) { return death.worker != self; });
  return cluster;
}

class ProcessLauncher final : public Launcher {
 public:
  ProcessLauncher(std::unique_ptr<Wire> wire, ProcessOptions options)
      : options_(std::move(options)),
        cluster_(own_part(options_.cluster, options_.self)),
        wire_(std::move(wire)),
        office_(*wire_, {.self = options_.self,
                         .workers = options_.cluster.workers,
                         .token = options_.token,
                         .warn = options_.warn}) {}

  ~ProcessLauncher() override {
    office_.close();
    wire_.reset();  // What ends with it is still told to the office.
  }

  std::vector<Loss> run(const std::function<void(Endpoint&)>& body) override;
  void stop(const std::string& reason) override;
  bool is_here(WorkerId worker) const override { return worker == options_.self; }
  void on_report(Heard heard) override { heard_ = std::move(heard); }
  void report(const std::string& report) override {
    const std::lock_guard lock(mutex_);
    if (scheduler_ == nullptr) return;
    const std::lock_guard office(*scheduler_);
    office_.report(report);
  }

 private:
  void see_off(Hub& hub, ProcessScheduler& scheduler);
  std::vector<Loss> conclude(const std::vector<WorkerEnd>& ends) const;

  const ProcessOptions options_;
  const Cluster cluster_;
  std::unique_ptr<Wire> wire_;
  PostOffice office_;
  Heard heard_;
  std::mutex mutex_;                       // Taken before the scheduler's. Guards:
  ProcessScheduler* scheduler_ = nullptr;  // Of the run under way,
  Hub* hub_ = nullptr;                     // likewise.
  std::string stop_reason_;
};

std::vector<Loss> ProcessLauncher::run(const std::function<void(Endpoint&)>& body) {
  at::set_num_threads(1);  // The processes are the parallelism.
  ProcessScheduler scheduler(*wire_, office_);
  Hub hub(cluster_, scheduler, &office_);
  std::optional<ReportReader> reader;
  if (heard_) {
    reader.emplace(heard_, [&](const std::string& why) { hub.stop(why); });
    office_.on_report([&](WorkerId from, std::string_view report) { reader->push(from, report); });
  }
  {
    const std::lock_guard lock(mutex_);
    const std::lock_guard office(scheduler);
    office_.enter(hub);
    if (!stop_reason_.empty()) {  // Stopped before it began: all are told.
      office_.tell_stop(stop_reason_);
      hub.note_stop(stop_reason_);
    }
    scheduler_ = &scheduler;
    hub_ = &hub;
  }
  std::thread injector;
  if (std::ranges::any_of(cluster_.deaths, [](const Death& death) { return !!death.time; }))
    injector = std::thread([&] { hub.inject_timed_deaths(); });
  Endings own;
  run_worker(
      hub, options_.self, HubWorker::Memory::apart,
      [&](Endpoint& endpoint) {
        scheduler.set_clock(clock_lead(endpoint, options_.startup));
        body(endpoint);
      },
      own);
  hub.close();
  if (injector.joinable()) injector.join();
  see_off(hub, scheduler);
  std::vector<WorkerEnd> ends;
  {
    const std::lock_guard lock(mutex_);
    scheduler_ = nullptr;
    hub_ = nullptr;
  }
  scheduler.close();
  {
    const std::lock_guard office(scheduler);
    ends = office_.ends();
    office_.leave();
  }
  if (reader) {
    reader->close();
    office_.on_report(nullptr);
    if (reader->error()) std::rethrow_exception(reader->error());
  }
  const std::string stopped = hub.stop_reason();
  if (!stopped.empty()) throw Interrupted(stopped);
  return conclude(ends);
}

// Until all workers have ended. Who does not say so is waited for as long as a wait may last, and
// not for long where the run has been stopped or has failed: then it has no reason to go on.
void ProcessLauncher::see_off(Hub& hub, ProcessScheduler& scheduler) {
  const std::lock_guard office(scheduler);
  const Time begin = scheduler.now();
  const auto give_up = [&] {
    const bool is_over = hub.is_stopped() || office_.has_failed();
    return begin + (is_over ? std::min(kGrace, options_.farewell.after) : options_.farewell.after);
  };
  while (!office_.have_all_ended() && scheduler.now() < give_up())
    scheduler.rest(options_.self, give_up());
  if (!office_.have_all_ended()) {
    office_.give_up_on_others(concat("it had not ended ", std::lround(scheduler.now() - begin),
                                     " s after worker ", options_.self.value));
    wire_->leave_others_behind();
  }
  const Time last_words = scheduler.now() + kLastWords;
  while (!office_.has_said_all() && scheduler.now() < last_words)
    scheduler.rest(options_.self, std::min(last_words, scheduler.now() + 0.01));
}

// As in one process (crew.h): the first cause before what followed from it, whoever tells it.
std::vector<Loss> ProcessLauncher::conclude(const std::vector<WorkerEnd>& ends) const {
  for (const WorkerEnding kind : {WorkerEnding::failed, WorkerEnding::followed})
    for (const WorkerEnd& end : ends)
      if (end.ending == kind && end.error) std::rethrow_exception(end.error);
  std::vector<Loss> losses;
  for (const WorkerEnd& end : ends)
    if (end.ending == WorkerEnding::died) losses.push_back({end.worker, end.reason});
  return losses;
}

void ProcessLauncher::stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (stop_reason_.empty()) stop_reason_ = reason;
  if (hub_ != nullptr) hub_->stop(reason);
}

}  // namespace

std::vector<std::string> left_out_by_processes(const Cluster& cluster) {
  std::vector<std::string> left_out;
  if (!Network(cluster).is_free())
    left_out.push_back("links with their speeds and latencies (those of the machines count)");
  if (!cluster.background.empty()) left_out.push_back("background traffic");
  if (!cluster.variations.empty()) left_out.push_back("links whose speed varies");
  if (!cluster.cuts.empty()) left_out.push_back("links that are cut");
  return left_out;
}

std::unique_ptr<Launcher> make_process_launcher(std::unique_ptr<Wire> wire,
                                                ProcessOptions options) {
  const std::string terms = options.terms;
  const Deadline deadline = options.startup;
  auto launcher = std::make_unique<ProcessLauncher>(std::move(wire), std::move(options));
  launcher->run([&](Endpoint& endpoint) { agree(endpoint, terms, deadline); });
  return launcher;
}

}  // namespace huddle
