#include "huddle/cli/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace huddle {
namespace {

// A death test runs in a process of its own, which a signal may end.
TEST(InterruptWatcher, EndsAProcessThatDoesNotHeedIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::atomic<int> calls{0};
        const InterruptWatcher watcher([&] { ++calls; }, [&] { ++calls; }, 0.1);
        kill(getpid(), SIGTERM);
        while (true) {
          if (calls > 2) std::abort();
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      },
      testing::ExitedWithCode(130), "did not come to a halt");
}

TEST(InterruptWatcher, AsksThenInsistsAndLetsTheProcessEndByItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::atomic<int> asked{0};
        std::atomic<int> insisted{0};
        {
          const InterruptWatcher watcher([&] { ++asked; }, [&] { ++insisted; }, 1);
          kill(getpid(), SIGINT);
          while (insisted == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        std::_Exit(10 * asked + insisted);
      },
      testing::ExitedWithCode(11), "");
}

}  // namespace
}  // namespace huddle
