// Deadlines where the system's clock steps back. In this program it has always just done so by an
// hour: whoever reads it gets what it showed before the step, and whoever waits by it waits for
// what it shows after.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "huddle/base/error.h"
#include "huddle/transport/threads/launcher.h"

// Takes the place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += 3600;
  return static_cast<int>(result);
}

namespace huddle {
namespace {

constexpr Tag kAnyTag{Kind::payload, Purpose::message, kMainLane, {}};

TEST(SteadyClock, EndsADeadlineAndASleepAlthoughTheSystemsClockHasSteppedBack) {
  alarm(60);  // What waits an hour too long fails.
  ThreadsOptions options;
  options.cluster.workers = 1;
  make_threads_launcher(options)->run([](Endpoint& endpoint) {
    const Time begin = endpoint.now();
    endpoint.compute(Step{0}, 0.01);
    EXPECT_GE(endpoint.now() - begin, 0.01);
    Pending never = endpoint.receive(endpoint.self(), kAnyTag, at::zeros({1}));
    EXPECT_THROW(never.wait({0.01}), Timeout);
    EXPECT_GE(endpoint.now() - begin, 0.02);
  });
  alarm(0);
}

}  // namespace
}  // namespace huddle
