// The engine of processes over MPI under test.  Run: mpirun -n 8 build/conformance_mpi
//
// MPI starts its processes before any test: all of them run all tests, each as one worker, and
// those that a test has no worker for leave it out. What MPI cannot do is not part of the suite: to
// go on without a process that was killed.

#include <algorithm>
#include <cstdio>

#include "huddle/transport/mpi/mpi_wire.h"
#include "huddle/transport/process/launcher.h"
#include "tests/conformance/conformance.h"

namespace huddle {
namespace {

// Which tests this process has no part in, and how those ended in which it had.
class Judge final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { is_absent_ = false; }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed() && !is_absent_)
      std::fprintf(stderr, "%s:%d: %s\n", result.file_name() ? result.file_name() : "?",
                   result.line_number(), result.message());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (is_absent_) return;
    ++judged_;
    if (!test.result()->Failed()) return;
    ++failed_;
    std::fprintf(stderr, "FAILED: %s.%s\n", test.test_suite_name(), test.name());
  }

  void leave_out() { is_absent_ = true; }
  int judged() const { return judged_; }
  int failed() const { return failed_; }

 private:
  bool is_absent_ = false;
  int judged_ = 0;
  int failed_ = 0;
};

Judge* judge() {
  static auto* const judge = new Judge;  // GoogleTest owns it.
  return judge;
}

TestedEngine mpi() {
  return {
      "mpi", [](const Cluster& cluster) {
        std::unique_ptr<Wire> wire = make_mpi_wire(cluster.workers);
        if (wire == nullptr) {
          judge()->leave_out();
          throw std::runtime_error("this process has no part in the test");
        }
        return make_process_launcher(
            std::move(wire),
            {.self = {mpi_place().rank}, .cluster = cluster, .startup = {60}, .farewell = {60}});
      }};
}

INSTANTIATE_TEST_SUITE_P(Mpi, Conformance, testing::Values(mpi()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(Mpi, RepeatedConformance, testing::Values(mpi()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(Mpi, ConformanceOfSize,
                         testing::Combine(testing::Values(mpi()), testing::Values(1, 2, 3, 4, 8)),
                         name_of_size);

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const huddle::MpiPlace place = huddle::mpi_place();
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(huddle::judge());
  const int status = RUN_ALL_TESTS();  // Not 0 where this process left a test out, too.
  const bool has_judged = place.rank > 0 || huddle::judge()->judged() > 0;
  const bool is_well = huddle::judge()->failed() == 0 && has_judged;
  if (place.rank == 0)
    std::printf("%d tests with %d processes; worker 0 saw %d fail\n", huddle::judge()->judged(),
                place.size, huddle::judge()->failed());
  return status == 0 || is_well ? 0 : 1;
}
