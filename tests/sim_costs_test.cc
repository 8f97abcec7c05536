// Simulated times against the closed forms of cluster/cost.h: the network model does what it says.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "huddle/cluster/cost.h"
#include "huddle/collective/average.h"
#include "huddle/schedule/schedule.h"
#include "huddle/transport/sim/launcher.h"

namespace huddle {
namespace {

// One line of tests/vectors/costs.json, of those that have racks.
struct Racks {
  int racks;
  int per_rack;
  double bytes;
  double nic;
  double uplink;
  Seconds latency;
  int buckets;
};

void PrintTo(const Racks& racks, std::ostream* out) {
  *out << racks.racks << "x" << racks.per_rack << ", uplink " << racks.uplink << ", latency "
       << racks.latency << ", buckets " << racks.buckets;
}

Cluster cluster_of(const Racks& racks) {
  Cluster cluster;
  cluster.workers = racks.racks * racks.per_rack;
  cluster.topology = in_equal_racks({.racks = racks.racks, .workers = racks.per_rack});
  cluster.topology.nic_bytes_per_second = racks.nic;
  cluster.topology.uplink_bytes_per_second = racks.uplink;
  cluster.topology.latency_in_rack = cluster.topology.latency_between_racks = racks.latency;
  return cluster;
}

RackNetwork network_of(const Racks& racks) {
  return {racks.racks, racks.per_rack, racks.latency, racks.nic, racks.uplink};
}

struct Exercise {
  Cluster cluster;
  Payload payload;
  Algorithm algorithm = Algorithm::ring;
  Overlap overlap = Overlap::phases;
};

// How long it takes until everybody has averaged in its group, bucket after bucket.
template <typename GroupOf>
Seconds simulated(const Exercise& exercise, const GroupOf& group_of) {
  const auto elements =
      static_cast<std::int64_t>(exercise.payload.bytes / exercise.payload.buckets / 4);
  Seconds longest = 0;
  make_sim_launcher({.cluster = exercise.cluster})->run([&](Endpoint& endpoint) {
    Averager averager(whole_messages_if_virtual(
        {.algorithm = exercise.algorithm,
         .topology = std::make_shared<const Topology>(exercise.cluster.topology),
         .overlap = exercise.overlap},
        endpoint));
    const at::Tensor bucket = at::empty({elements}, at::TensorOptions().device(at::kMeta));
    const Group group = group_of(endpoint.self());
    for (int i = 0; i < exercise.payload.buckets; ++i)
      averager.average(endpoint, group, bucket, Sequence{static_cast<std::uint32_t>(i)});
    longest = std::max(longest, endpoint.now());
  });
  return longest;
}

// ... in the groups of phase `phase` of a schedule.
Seconds simulated_phase(const Exercise& exercise, const SchedulePattern& pattern, int phase) {
  const Schedule schedule(pattern, Group::everyone(exercise.cluster.workers));
  return simulated(exercise,
                   [&](WorkerId worker) { return schedule.group_of(worker, Step{phase}); });
}

void expect_within(double tolerance, Seconds measured, Seconds predicted) {
  EXPECT_NEAR(measured / predicted, 1, tolerance)
      << measured << " s simulated, " << predicted << " s by the formula";
}

class FlatCosts : public testing::TestWithParam<std::tuple<Seconds, int>> {
 protected:
  Exercise exercise() const {
    Exercise exercise;
    exercise.cluster.workers = 16;
    exercise.cluster.topology.nic_bytes_per_second = network().link.bytes_per_second;
    exercise.cluster.topology.latency_in_rack = network().link.latency;
    exercise.payload = {102.4e6, std::get<int>(GetParam())};
    return exercise;
  }
  Seconds of_all(Algorithm algorithm, int workers) const {
    Exercise among = exercise();
    among.cluster.workers = workers;
    among.algorithm = algorithm;
    return simulated(among, [workers](WorkerId) { return Group::everyone(workers); });
  }
  FlatNetwork network(int workers = 16) const {
    return {workers, {std::get<Seconds>(GetParam()), 1.25e9}};
  }
};

TEST_P(FlatCosts, ARingOfAll) {
  expect_within(0.01, of_all(Algorithm::ring, 16), ring_seconds(network(), exercise().payload));
}

TEST_P(FlatCosts, HalvingAndDoubling) {
  expect_within(0.01, of_all(Algorithm::halving_doubling, 16),
                halving_doubling_seconds(network(), exercise().payload));
}

// Eight average, and three hand theirs on and get the result. Their neighbours are flooded, which
// the formula does not know.
TEST_P(FlatCosts, HalvingAndDoublingAmongElevenTakesTwoThirdsMoreAtMost) {
  const double ratio = of_all(Algorithm::halving_doubling, 11) /
                       halving_doubling_seconds(network(11), exercise().payload);
  EXPECT_GE(ratio, 0.99);
  EXPECT_LE(ratio, 1.7);
}

TEST_P(FlatCosts, EverybodyStraightToEverybody) {
  expect_within(0.01, of_all(Algorithm::direct, 16), direct_seconds(network(), exercise().payload));
}

TEST_P(FlatCosts, RingsOfFourSideBySide) {
  expect_within(0.01, simulated_phase(exercise(), grid_pattern({4, 4}), 0),
                ring_seconds(network(4), exercise().payload));
}

TEST_P(FlatCosts, PairsSideBySide) {
  expect_within(0.01, simulated_phase(exercise(), exchange_pattern({2, 2, 2, 2}), 1),
                pair_seconds(network(), exercise().payload));
}

// So little that latency is all that counts: each member's messages of one phase travel at once.
TEST(SmallCosts, OfDirectAreTwoLatencies) {
  Exercise exercise{.cluster = {}, .payload = {16e3}, .algorithm = Algorithm::direct};
  exercise.cluster.workers = 16;
  exercise.cluster.topology.nic_bytes_per_second = 1.25e9;
  exercise.cluster.topology.latency_in_rack = 0.01;
  expect_within(0.01, simulated(exercise, [](WorkerId) { return Group::everyone(16); }),
                direct_seconds({16, {0.01, 1.25e9}}, exercise.payload));
}

INSTANTIATE_TEST_SUITE_P(Costs, FlatCosts,
                         testing::Combine(testing::Values(0, 1e-4, 1e-3, 5e-3),
                                          testing::Values(1, 4)));

class RackCosts : public testing::TestWithParam<Racks> {
 protected:
  Exercise exercise(Algorithm algorithm = Algorithm::ring,
                    Overlap overlap = Overlap::phases) const {
    return {cluster_of(GetParam()), payload(), algorithm, overlap};
  }
  Payload payload() const { return {GetParam().bytes, GetParam().buckets}; }
  RackNetwork network() const { return network_of(GetParam()); }
  GridPattern grid() const { return grid_pattern({GetParam().per_rack, GetParam().racks}); }

  // A group that has links of this speed for itself. Two exchange as a pair, which the formulas of
  // whole schedules do not know.
  Seconds average_of(int members, double bytes_per_second) const {
    const FlatNetwork alike{members, {GetParam().latency, bytes_per_second}};
    return members == 2 ? pair_seconds(alike, payload()) : ring_seconds(alike, payload());
  }
  Seconds of_all(Algorithm algorithm, Overlap overlap) const {
    return simulated(exercise(algorithm, overlap), [this](WorkerId) {
      return Group::everyone(GetParam().racks * GetParam().per_rack);
    });
  }
};

TEST_P(RackCosts, ARingRackByRack) {
  expect_within(0.01, of_all(Algorithm::ring, Overlap::none), ring_seconds(network(), payload()));
}

TEST_P(RackCosts, ARingThatLeavesItsRackAtEveryHop) {
  expect_within(0.01, of_all(Algorithm::scattered_ring, Overlap::none),
                scattered_ring_seconds(network(), payload()));
}

TEST_P(RackCosts, AGridsPhaseOfRacks) {
  expect_within(0.01, simulated_phase(exercise(), grid(), 0),
                average_of(GetParam().per_rack, GetParam().nic));
}

TEST_P(RackCosts, AGridsPhaseAcrossRacks) {
  const double share = std::min(GetParam().nic, GetParam().uplink / GetParam().per_rack);
  expect_within(0.01, simulated_phase(exercise(), grid(), 1), average_of(GetParam().racks, share));
}

TEST_P(RackCosts, ARotatingRepresentative) {
  const double across = std::min(GetParam().nic, GetParam().uplink);
  expect_within(
      0.01,
      simulated_phase(exercise(), rotating_pattern({GetParam().racks, GetParam().per_rack}), 0),
      std::max(average_of(GetParam().racks, across),
               average_of(GetParam().per_rack - 1, GetParam().nic)));
}

TEST_P(RackCosts, LeadersWithPhasesApart) {
  expect_within(0.03, of_all(Algorithm::leader, Overlap::none),
                leader_seconds(network(), payload()));
}

TEST_P(RackCosts, ShardsWithPhasesApart) {
  expect_within(0.03, of_all(Algorithm::sharded, Overlap::none),
                sharded_seconds(network(), payload()));
}

// The ideal knows neither latency nor buckets.
class PipelineCosts : public RackCosts {};

TEST_P(PipelineCosts, OfShardsComeCloseToTheirIdeal) {
  const double workers = GetParam().racks * GetParam().per_rack;
  const double racks = GetParam().racks;
  const Seconds ideal = std::max(2 * (workers - 1) / workers * GetParam().bytes / GetParam().nic,
                                 2 * (racks - 1) / racks * GetParam().bytes / GetParam().uplink);
  expect_within(0.10, of_all(Algorithm::sharded, Overlap::phases), ideal);
}

constexpr Racks kWithoutLatency[] = {
    {2, 4, 1e8, 1.25e9, 5e9, 0, 1},    {2, 4, 1e8, 1.25e9, 1.25e9, 0, 1},
    {2, 8, 1e8, 1.25e9, 2.5e9, 0, 1},  {4, 4, 1e8, 1.25e9, 1.25e9, 0, 1},
    {4, 4, 1e8, 1.25e9, 6.25e8, 0, 1},
};

INSTANTIATE_TEST_SUITE_P(WithoutLatency, RackCosts, testing::ValuesIn(kWithoutLatency));
INSTANTIATE_TEST_SUITE_P(WithoutLatency, PipelineCosts, testing::ValuesIn(kWithoutLatency));
INSTANTIATE_TEST_SUITE_P(WithLatency, RackCosts,
                         testing::Values(Racks{4, 4, 1e8, 1.25e9, 6.25e8, 1e-4, 4},
                                         Racks{3, 2, 5e7, 1.25e9, 1.25e9, 1e-3, 2}));

}  // namespace
}  // namespace huddle
