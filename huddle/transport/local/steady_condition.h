// A condition variable that waits by the steady clock, so that nobody who sets the system's clock
// stretches a deadline.
//
// std::condition_variable can do so too, but by a call that the thread sanitizer of GCC 12 does not
// know; a clock chosen beforehand it does.

#pragma once

#include <pthread.h>

#include <mutex>

#include "huddle/base/ids.h"

namespace huddle {

class SteadyCondition {
 public:
  SteadyCondition();
  ~SteadyCondition() { pthread_cond_destroy(&condition_); }
  SteadyCondition(const SteadyCondition&) = delete;
  SteadyCondition& operator=(const SteadyCondition&) = delete;

  // Returns when notified, when so much time has passed, or for no reason. REQUIRES: `mutex` is
  // locked, and is again afterwards; at least 0 seconds, or kForever.
  void wait_for(std::mutex& mutex, Seconds seconds);

  void notify_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

}  // namespace huddle
