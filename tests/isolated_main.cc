// A main for GoogleTest that runs each test in a process of its own: for engines that can be used
// only once per process.
//
// Takes GoogleTest's own options. A test fails if its process does.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

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

// How a test that ran alone ended, and what it printed.
struct Ending {
  bool passed = false;
  std::string output;
};

// Nothing has been started in this process, so forking is safe.
Ending run_alone(const std::string& name) {
  std::fflush(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return {false, "no pipe\n"};
  const pid_t child = fork();
  if (child < 0) return {false, "no process\n"};
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    testing::GTEST_FLAG(filter) = name;
    const int status = RUN_ALL_TESTS();
    std::fflush(nullptr);
    _exit(status);
  }
  close(ends[1]);
  Ending ending;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;)
    ending.output.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ending.passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return ending;
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
    const Ending ending = run_alone(name);
    if (ending.passed) continue;
    ++failed;
    std::printf("%s\nFAILED: %s\n", ending.output.c_str(), name.c_str());
  }
  std::printf("%zu tests, each in a process of its own; %d failed\n", names.size(), failed);
  return failed == 0 && !names.empty() ? 0 : 1;
}
