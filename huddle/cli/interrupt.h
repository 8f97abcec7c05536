// Ctrl-C and SIGTERM as an orderly end: a watcher calls back instead of the process dying in the
// middle of a line.

#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace huddle {

// While it lives, the first SIGINT or SIGTERM calls `stop` on a thread of its own, and `insist`
// when it still lives three seconds later; a second one ends the process. Make it before any other
// thread, so that all inherit the blocked signals.
class InterruptWatcher {
 public:
  explicit InterruptWatcher(
      std::function<void()> stop, std::function<void()> insist = [] {});
  ~InterruptWatcher();
  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

 private:
  void watch();

  const std::function<void()> stop_;
  const std::function<void()> insist_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace huddle
