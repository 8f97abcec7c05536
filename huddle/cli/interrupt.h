// Ctrl-C and SIGTERM as an orderly end: a watcher calls back instead of the process dying in the
// middle of a line.

#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "huddle/base/ids.h"

namespace huddle {

// While it lives, the first SIGINT or SIGTERM calls `stop` on a thread of its own, and `insist`
// when it still lives after the time of `patience`; after ten times that, or at a second signal,
// the process ends. Make it before any other thread, so that all inherit the blocked signals.
class InterruptWatcher {
 public:
  explicit InterruptWatcher(
      std::function<void()> stop, std::function<void()> insist = [] {}, Seconds patience = 3);
  ~InterruptWatcher();
  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

 private:
  void watch();

  const std::function<void()> stop_;
  const std::function<void()> insist_;
  const Seconds patience_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace huddle
