// The sim engine under test: in virtual time the suite runs as it does in real time.

#include "huddle/transport/sim/launcher.h"
#include "tests/conformance/conformance.h"

namespace huddle {
namespace {

TestedEngine sim() {
  return {"sim", [](const Cluster& cluster) { return make_sim_launcher({.cluster = cluster}); }};
}

INSTANTIATE_TEST_SUITE_P(Sim, Conformance, testing::Values(sim()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(Sim, ConformanceOfSize, testing::Combine(testing::Values(sim()), sizes()),
                         name_of_size);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RepeatedConformance);

}  // namespace
}  // namespace huddle
