#include "huddle/transport/threads/launcher.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>

#include "huddle/base/text.h"
#include "huddle/cluster/network.h"
#include "huddle/transport/local/crew.h"
#include "huddle/transport/threads/scheduler.h"

namespace huddle {
namespace {

class ThreadsLauncher final : public Launcher {
 public:
  explicit ThreadsLauncher(const ThreadsOptions& options)
      : options_(options),
        memory_(options.native == ThreadsOptions::Native::on && Network(options.cluster).is_free()
                    ? HubWorker::Memory::shared
                    : HubWorker::Memory::apart) {}

  std::vector<Loss> run(const std::function<void(Endpoint&)>& body) override;
  void stop(const std::string& reason) override;

 private:
  const ThreadsOptions options_;
  const HubWorker::Memory memory_;
  std::mutex mutex_;
  Hub* hub_ = nullptr;       // Guarded by mutex_. Of the run under way.
  std::string stop_reason_;  // Guarded by mutex_.
};

std::vector<Loss> ThreadsLauncher::run(const std::function<void(Endpoint&)>& body) {
  at::set_num_threads(1);  // The workers are the parallelism.
  ThreadScheduler scheduler(options_.cluster, options_.payload_scale);
  Hub hub(options_.cluster, scheduler);
  {
    const std::lock_guard lock(mutex_);
    if (!stop_reason_.empty()) throw Interrupted(stop_reason_);
    hub_ = &hub;
  }
  Endings endings;
  std::exception_ptr not_started;
  std::thread injector;  // Before the workers: if no thread can be had, nothing has begun.
  if (std::any_of(options_.cluster.deaths.begin(), options_.cluster.deaths.end(),
                  [](const Death& death) { return death.time.has_value(); }))
    injector = std::thread([&] { hub.inject_timed_deaths(); });
  std::vector<std::thread> threads;
  try {
    for (int worker = 0; worker < options_.cluster.workers; ++worker)
      threads.emplace_back(
          [&, worker] { run_worker(hub, WorkerId{worker}, memory_, body, endings); });
  } catch (const std::system_error& error) {
    const std::string reason = concat("only ", threads.size(), " of ", options_.cluster.workers,
                                      " workers could be started: ", error.what());
    hub.stop(reason);
    not_started = std::make_exception_ptr(Error(reason));
  }
  for (std::thread& thread : threads) thread.join();
  hub.close();
  if (injector.joinable()) injector.join();
  {
    const std::lock_guard lock(mutex_);
    hub_ = nullptr;
    if (!stop_reason_.empty()) throw Interrupted(stop_reason_);
  }
  if (not_started) std::rethrow_exception(not_started);
  return endings.conclude();
}

void ThreadsLauncher::stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (stop_reason_.empty()) stop_reason_ = reason;
  if (hub_ != nullptr) hub_->stop(reason);
}

}  // namespace

std::unique_ptr<Launcher> make_threads_launcher(const ThreadsOptions& options) {
  return std::make_unique<ThreadsLauncher>(options);
}

std::vector<std::string> left_out_by_threads(const Cluster& cluster) {
  std::vector<std::string> left_out;
  if (!cluster.background.empty()) left_out.push_back("background traffic");
  if (!cluster.variations.empty()) left_out.push_back("links whose speed varies");
  if (!cluster.cuts.empty()) left_out.push_back("links that are cut");
  if (cluster.network_model == Cluster::NetworkModel::tcp)
    left_out.push_back("the network model tcp (alpha_beta takes its place)");
  return left_out;
}

}  // namespace huddle
