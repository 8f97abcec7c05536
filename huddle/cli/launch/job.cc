#include "huddle/cli/launch/job.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <memory>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/cli/launch/job_log.h"

namespace huddle {
namespace {

constexpr int kTickMilliseconds = 100;
constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();
// After the first wish to end: `huddle train` itself gives up after 30 s.
constexpr Seconds kGoodWhile = 45;
// After the last one.
constexpr Seconds kSoon = 5;

sigset_t held_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&signals, each);
  struct sigaction at_hangup {};
  sigaction(SIGHUP, nullptr, &at_hangup);
  if (at_hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);  // Under nohup it is no wish.
  return signals;
}

void write_to_errors(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDERR_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return;  // Nobody reads it any more.
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

class Job {
 public:
  Job(const std::vector<WorkerStart>& starts, const JobOptions& options)
      : grace_(options.grace),
        log_(static_cast<int>(starts.size()),
             options.worker_0 == ErrorStream::terminal ? JobLog::Mode::terminal
                                                       : JobLog::Mode::lines,
             write_to_errors) {
    const sigset_t signals = held_signals();
    signals_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals_ < 0) throw Error(concat("cannot hear signals: ", system_message(errno), "."));
    for (std::size_t i = 0; i < starts.size(); ++i)
      running_.push_back(std::make_unique<WorkerProcess>(
          static_cast<int>(i), starts[i], i == 0 ? options.worker_0 : ErrorStream::pipe));
  }
  ~Job() { close(signals_); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  JobEnd run() {
    while (!running_.empty()) {
      wait();
      hear_signals();
      for (const auto& worker : running_) read_from(*worker);
      collect();
      decide();
      log_.show_due(steady_seconds());
    }
    log_.show_all();
    return std::move(end_);
  }

 private:
  // Until something happens, but not for long.
  void wait() {
    std::vector<pollfd> streams{{.fd = signals_, .events = POLLIN, .revents = 0}};
    for (const auto& worker : running_)
      streams.push_back({.fd = worker->stream(), .events = POLLIN, .revents = 0});
    poll(streams.data(), streams.size(), kTickMilliseconds);
  }

  void hear_signals() {
    signalfd_siginfo heard{};
    while (read(signals_, &heard, sizeof heard) == sizeof heard) {
      const int signal = static_cast<int>(heard.ssi_signo);
      if (signal == SIGPIPE) continue;  // Of a stream to a worker that has ended.
      send(signal == SIGHUP ? SIGTERM : signal);
      kill_at_ = std::min(kill_at_, steady_seconds() + (end_.is_interrupted ? kSoon : kGoodWhile));
      end_.is_interrupted = true;
    }
  }

  void read_from(WorkerProcess& worker) {
    const std::string said = worker.read();
    // Who is asked to end for no fault of its own says that it was interrupted: no news.
    if (!was_asked_) log_.add(worker.worker(), said, steady_seconds());
  }

  void collect() {
    for (std::size_t i = 0; i < running_.size();) {
      const std::optional<ProcessEnd> end = running_[i]->end();
      if (!end) {
        ++i;
        continue;
      }
      const std::unique_ptr<WorkerProcess> worker = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      read_the_rest_of(*worker);
      end_.ends.push_back(*end);
      end_.ends.back().was_asked = was_asked_;
    }
  }

  // All that is there: whoever else holds its stream open may never close it.
  void read_the_rest_of(WorkerProcess& worker) {
    for (std::string said = worker.read(); !said.empty(); said = worker.read())
      if (!was_asked_) log_.add(worker.worker(), said, steady_seconds());
    log_.end(worker.worker(), steady_seconds());
  }

  void decide() {
    const Seconds now = steady_seconds();
    const bool has_purpose = std::ranges::none_of(
        end_.ends, [](const ProcessEnd& end) { return end.worker == 0 || end.is_refused(); });
    if (!has_purpose && ask_at_ == kNever) ask_at_ = now + grace_;
    if (now >= ask_at_ && !was_asked_ && !end_.is_interrupted) {
      was_asked_ = true;
      send(SIGTERM);
      kill_at_ = std::min(kill_at_, now + kSoon);
    }
    if (now >= kill_at_) {
      was_asked_ = true;
      send(SIGKILL);
    }
  }

  void send(int signal) {
    for (const auto& worker : running_) worker->send(signal);
  }

  const Seconds grace_;
  JobLog log_;
  int signals_ = -1;
  std::vector<std::unique_ptr<WorkerProcess>> running_;
  JobEnd end_;
  Seconds ask_at_ = kNever;
  Seconds kill_at_ = kNever;
  bool was_asked_ = false;
};

}  // namespace

void hold_signals() {
  const sigset_t signals = held_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

JobEnd run_job(const std::vector<WorkerStart>& starts, const JobOptions& options) {
  return Job(starts, options).run();
}

}  // namespace huddle
