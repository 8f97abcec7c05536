#include "huddle/transport/local/steady_condition.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// As long as anybody waits before looking again; the sum with any clock fits a timespec.
constexpr Seconds kLongest = 86'400;

}  // namespace

SteadyCondition::SteadyCondition() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  const bool has_clock = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0;
  pthread_cond_init(&condition_, &attributes);
  pthread_condattr_destroy(&attributes);
  check(has_clock, "this system has no steady clock to wait by");
}

void SteadyCondition::wait_for(std::mutex& mutex, Seconds seconds) {
  constexpr long kNanosecondsPerSecond = 1'000'000'000;
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const Seconds bounded = std::min(seconds, kLongest);
  const Seconds whole = std::floor(bounded);
  until.tv_sec += static_cast<std::time_t>(whole);
  until.tv_nsec += static_cast<long>((bounded - whole) * kNanosecondsPerSecond);
  if (until.tv_nsec >= kNanosecondsPerSecond) {
    ++until.tv_sec;
    until.tv_nsec -= kNanosecondsPerSecond;
  }
  pthread_cond_timedwait(&condition_, mutex.native_handle(), &until);
}

}  // namespace huddle
