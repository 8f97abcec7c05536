#include "huddle/cli/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "huddle/base/steady_seconds.h"

namespace huddle {
namespace {

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

InterruptWatcher::InterruptWatcher(std::function<void()> stop, std::function<void()> insist,
                                   Seconds patience)
    : stop_(std::move(stop)), insist_(std::move(insist)), patience_(patience) {
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { watch(); });
}

InterruptWatcher::~InterruptWatcher() {
  over_ = true;
  thread_.join();
  // SimGrid leaves a handler behind that calls exit(), which hangs where the process is in exit()
  // already. From here on a signal just ends the process.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void InterruptWatcher::watch() {
  const sigset_t signals = watched_signals();
  const timespec a_moment{.tv_sec = 0, .tv_nsec = 100'000'000};
  std::optional<Seconds> asked;
  for (bool insisted = false; !over_;) {
    if (sigtimedwait(&signals, nullptr, &a_moment) >= 0) {
      if (asked) _exit(130);
      asked = steady_seconds();
      stop_();
      continue;
    }
    if (!asked) continue;
    const Seconds since = steady_seconds() - *asked;
    if (since >= patience_ && !std::exchange(insisted, true)) insist_();
    if (since < 10 * patience_) continue;
    std::fputs("huddle: interrupted; it did not come to a halt, and its last figures are lost.\n",
               stderr);
    _exit(130);
  }
}

}  // namespace huddle
