// The threads engine under test, with averages in shared memory and without.

#include "huddle/transport/threads/launcher.h"
#include "tests/conformance/conformance.h"

namespace huddle {
namespace {

TestedEngine threads(const std::string& name, ThreadsOptions::Native native) {
  return {name, [native](const Cluster& cluster) {
            return make_threads_launcher({.cluster = cluster, .native = native});
          }};
}

TestedEngine native() { return threads("native", ThreadsOptions::Native::on); }
TestedEngine messages() { return threads("messages", ThreadsOptions::Native::off); }

INSTANTIATE_TEST_SUITE_P(Threads, Conformance, testing::Values(native(), messages()),
                         name_of_engine);
INSTANTIATE_TEST_SUITE_P(Threads, RepeatedConformance, testing::Values(native(), messages()),
                         name_of_engine);
INSTANTIATE_TEST_SUITE_P(Threads, ConformanceOfSize,
                         testing::Combine(testing::Values(native(), messages()), sizes()),
                         name_of_size);
INSTANTIATE_TEST_SUITE_P(Threads, NativeConformance, testing::Values(native()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(Threads, NativeConformanceOfSize,
                         testing::Combine(testing::Values(native()), sizes()), name_of_size);

}  // namespace
}  // namespace huddle
