// The engine of processes over UCX under test: each worker is a process of its own.

#include "huddle/transport/process/launcher.h"
#include "huddle/transport/ucx/ucx_wire.h"
#include "tests/conformance/conformance.h"
#include "tests/support/forked_workers.h"

namespace huddle {
namespace {

TestedEngine ucx() {
  return {"ucx", [](const Cluster& cluster) {
            const ForkedWorkers workers(cluster.workers);
            return make_process_launcher(
                make_ucx_wire(workers.self(), cluster.workers,
                              [&](const std::string& own) { return workers.exchange(own); }),
                {.self = workers.self(), .cluster = cluster, .startup = {60}, .farewell = {60}});
          }};
}

INSTANTIATE_TEST_SUITE_P(Ucx, Conformance, testing::Values(ucx()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(Ucx, RepeatedConformance, testing::Values(ucx()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(Ucx, ConformanceOfSize,
                         testing::Combine(testing::Values(ucx()), testing::Values(1, 2, 3, 4, 8)),
                         name_of_size);

}  // namespace
}  // namespace huddle
