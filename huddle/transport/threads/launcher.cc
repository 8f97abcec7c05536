#include "huddle/transport/threads/launcher.h"

#include <ATen/Parallel.h>

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "huddle/core/text.h"
#include "huddle/transport/threads/endpoint.h"
#include "huddle/transport/threads/hub.h"

namespace huddle {
namespace {

// How the bodies of one run ended.
struct Endings {
  std::mutex mutex;
  std::vector<Loss> deaths;           // Injected; not errors by themselves.
  std::exception_ptr first_cause;     // Of a body that failed by itself.
  std::exception_ptr first_follower;  // Of a body that failed because another had ended.
};

class ThreadsLauncher final : public Launcher {
 public:
  explicit ThreadsLauncher(const ThreadsOptions& options) : options_(options) {
    options_.cluster.validate();
  }

  std::vector<Loss> run(const std::function<void(Endpoint&)>& body) override;
  void stop(const std::string& reason) override;

 private:
  void run_worker(Hub& hub, WorkerId id, const std::function<void(Endpoint&)>& body,
                  Endings& endings);

  ThreadsOptions options_;
  std::mutex mutex_;
  Hub* hub_ = nullptr;       // Guarded by mutex_. Of the run under way.
  std::string stop_reason_;  // Guarded by mutex_.
};

// How one body ended, and the reason that others should read.
struct BodyEnding {
  Hub::Ending ending = Hub::Ending::finished;
  std::string reason;
};

BodyEnding guarded(Hub& hub, WorkerId id, const std::function<void()>& body, Endings& endings) {
  const auto remember = [&](std::exception_ptr& place) {
    const std::lock_guard lock(endings.mutex);
    if (!place) place = std::current_exception();
  };
  try {
    body();
    if (const std::string reason = hub.loss_of(id); !reason.empty())
      throw Killed(reason);  // In a program nobody waited for.
    return {};
  } catch (const Killed& death) {
    const std::lock_guard lock(endings.mutex);
    endings.deaths.push_back({id, death.what()});
    return {Hub::Ending::died, death.what()};
  } catch (const PeerLost& lost) {
    remember(endings.first_follower);
    const std::string cause = hub.loss_of(lost.peer());
    return {Hub::Ending::failed, cause.empty() ? std::string(lost.what()) : cause};
  } catch (const std::exception& error) {
    remember(endings.first_cause);
    return {Hub::Ending::failed, concat("worker ", id.value, " failed at step ",
                                        hub.step_of(id).value, ": ", error.what())};
  } catch (...) {
    remember(endings.first_cause);
    return {Hub::Ending::failed,
            concat("worker ", id.value, " failed at step ", hub.step_of(id).value,
                   " with an exception of unknown type")};
  }
}

void ThreadsLauncher::run_worker(Hub& hub, WorkerId id, const std::function<void(Endpoint&)>& body,
                                 Endings& endings) {
  BodyEnding end;
  {
    ThreadsWorker worker(
        hub, id,
        options_.native == ThreadsOptions::Native::on && options_.cluster.has_free_links());
    ThreadsEndpoint endpoint(worker, worker.body);
    end = guarded(
        hub, id, [&] { body(endpoint); }, endings);
    // At once: the others must not wait for its programs to wind up.
    if (end.ending != Hub::Ending::finished) hub.end(id, end.ending, end.reason);
  }
  if (end.ending == Hub::Ending::finished) hub.end(id, end.ending, end.reason);
}

std::vector<Loss> ThreadsLauncher::run(const std::function<void(Endpoint&)>& body) {
  at::set_num_threads(1);  // The workers are the parallelism.
  Hub hub(options_.cluster);
  {
    const std::lock_guard lock(mutex_);
    if (!stop_reason_.empty()) throw Interrupted(stop_reason_);
    hub_ = &hub;
  }
  Endings endings;
  std::vector<std::thread> threads;
  try {
    for (int worker = 0; worker < options_.cluster.workers; ++worker)
      threads.emplace_back([&, worker] { run_worker(hub, WorkerId{worker}, body, endings); });
  } catch (const std::system_error& error) {
    const std::string reason = concat("only ", threads.size(), " of ", options_.cluster.workers,
                                      " workers could be started: ", error.what());
    hub.stop(reason);
    endings.first_cause = std::make_exception_ptr(Error(reason));
  }
  for (std::thread& thread : threads) thread.join();
  {
    const std::lock_guard lock(mutex_);
    hub_ = nullptr;
    if (!stop_reason_.empty()) throw Interrupted(stop_reason_);
  }
  if (endings.first_cause) std::rethrow_exception(endings.first_cause);
  if (endings.first_follower) std::rethrow_exception(endings.first_follower);
  return endings.deaths;
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

}  // namespace huddle
