#include "huddle/cli/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

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

InterruptWatcher::InterruptWatcher(std::function<void()> stop, std::function<void()> insist)
    : stop_(std::move(stop)), insist_(std::move(insist)) {
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
  const int patience = 30;  // Moments.
  int moments = 0;          // Since it was asked for.
  for (bool asked = false; !over_;) {
    if (sigtimedwait(&signals, nullptr, &a_moment) < 0) {
      if (asked && ++moments == patience) insist_();
      continue;
    }
    if (asked) _exit(130);
    asked = true;
    stop_();
  }
}

}  // namespace huddle
