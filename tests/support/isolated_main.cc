// A main for GoogleTest that runs each test in a process of its own: for engines that can be used
// only once per process.
//
// Takes GoogleTest's own options. A test fails if its process does. What a test prints is shown
// where it fails, and where it is the only one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/in_child.h"

namespace {

std::vector<std::string> tests_to_run() {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite) {
    const testing::TestSuite& tests = *all.GetTestSuite(suite);
    for (int test = 0; test < tests.total_test_count(); ++test)
      if (tests.GetTestInfo(test)->should_run())
        names.push_back(std::string(tests.name()) + "." + tests.GetTestInfo(test)->name());
  }
  return names;
}

// What the test prints is what the child says.
huddle::ChildEnding run_alone(const std::string& name) {
  return huddle::in_child([&](int pipe) {
    dup2(pipe, STDOUT_FILENO);
    dup2(pipe, STDERR_FILENO);
    testing::GTEST_FLAG(filter) = name;
    return RUN_ALL_TESTS();
  });
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // GoogleTest decides what should run only when it runs: with a filter that lets nothing through
  // but the listing, it does so without running anything.
  testing::GTEST_FLAG(list_tests) = true;
  testing::internal::CaptureStdout();
  const int listed = RUN_ALL_TESTS();
  testing::internal::GetCapturedStdout();
  testing::GTEST_FLAG(list_tests) = false;
  if (listed != 0) return listed;
  int failed = 0;
  const std::vector<std::string> names = tests_to_run();
  for (const std::string& name : names) {
    const huddle::ChildEnding ending = run_alone(name);
    if (!ending.succeeded || names.size() == 1) std::printf("%s\n", ending.said.c_str());
    if (ending.succeeded) continue;
    ++failed;
    std::printf("FAILED: %s\n", name.c_str());
  }
  std::printf("%zu tests, each in a process of its own; %d failed\n", names.size(), failed);
  return failed == 0 && !names.empty() ? 0 : 1;
}
