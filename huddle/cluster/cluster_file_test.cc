#include "huddle/cluster/cluster_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

Cluster read(const std::string& text) {
  return read_cluster_file(ScratchFolder().write("cluster.toml", text));
}

TEST(ClusterFile, ReadsOneRack) {
  const Cluster cluster = read("name = 'mine'\nworkers = 8\n");
  EXPECT_EQ(cluster.name, "mine");
  EXPECT_EQ(cluster.workers, 8);
  EXPECT_EQ(cluster.topology.rack_count(), 1);
  EXPECT_EQ(cluster.topology.nic_bytes_per_second, kUnlimited);
  EXPECT_EQ(cluster.backward_share, 2. / 3);
}

TEST(ClusterFile, IsNamedAfterItselfWithoutAName) {
  EXPECT_EQ(read("workers = 1").name, "cluster");
}

TEST(ClusterFile, ReadsRacksAndTheNetwork) {
  const Cluster cluster = read(R"(
    [racks]
    count = 2
    workers = 4
    [network]
    model = "tcp"
    nic = "10Gbps"
    uplink = "8Gbps"
    latency = "0.1ms"
    latency_between = "0.5ms"
  )");
  EXPECT_EQ(cluster.workers, 8);
  EXPECT_EQ(cluster.topology.rack_count(), 2);
  EXPECT_EQ(cluster.network_model, Cluster::NetworkModel::tcp);
  EXPECT_EQ(cluster.topology.nic_bytes_per_second, 1.25e9);
  EXPECT_EQ(cluster.topology.uplink_bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(cluster.topology.latency_in_rack, 1e-4);
  EXPECT_DOUBLE_EQ(cluster.topology.latency_between_racks, 5e-4);
}

TEST(ClusterFile, ReadsRacksOfDifferentSizes) {
  const Cluster cluster = read("racks = {sizes = [4, 4, 2]}\n[network]\nuplink = '8Gbps'");
  EXPECT_EQ(cluster.workers, 10);
  EXPECT_EQ(cluster.topology.rack_sizes(), (std::vector{4, 4, 2}));
}

TEST(ClusterFile, PutsWorkersOnHosts) {
  const Cluster cluster = read(R"(
    workers_per_host = 2
    racks = {count = 2, workers = 4}
    network = {nic = "10Gbps", oversubscription = 4}
    varying = [{workers = "all", lowest = 0.5}]
  )");
  EXPECT_EQ(cluster.topology.hosts, (std::vector{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(cluster.topology.uplink_bytes_per_second, 1.25e9 / 2) << "of two hosts";
  EXPECT_EQ(cluster.variations.size(), 4u) << "each connection once";
  EXPECT_TRUE(read("workers = 3").topology.hosts.empty());
}

TEST(ClusterFile, DerivesTheUplinkFromTheOversubscription) {
  const Cluster cluster = read(R"(
    network = {nic = "10Gbps", oversubscription = 4, latency = "1ms"}
    racks = {count = 2, workers = 8}
  )");
  EXPECT_EQ(cluster.topology.uplink_bytes_per_second, 2.5e9);
  EXPECT_DOUBLE_EQ(cluster.topology.latency_between_racks, 1e-3);  // As inside a rack.
}

TEST(ClusterFile, ReadsLinksAndPaths) {
  const Cluster cluster = read(R"(
    [racks]
    count = 2
    workers = 4
    [network]
    latency = "1ms"
    latency_between = "10ms"
    [[link]]
    worker = 3
    bandwidth = "1Gbps"
    [[link]]
    rack = 1
    latency = "2ms"
    [[path]]
    racks = [0, 1]
    bandwidth = "8Mbps"
    latency = "3ms"
    [[path]]
    workers = [2, 5]
    [[path]]
    workers = [2, 3]
  )");
  ASSERT_EQ(cluster.topology.link_overrides.size(), 2u);
  EXPECT_EQ(cluster.topology.link_overrides[0].place, (Place{Place::Kind::worker, 3}));
  EXPECT_EQ(cluster.topology.link_overrides[0].bytes_per_second, 1.25e8);
  EXPECT_EQ(cluster.topology.link_overrides[0].extra_latency, 0);
  EXPECT_EQ(cluster.topology.link_overrides[1].place, (Place{Place::Kind::rack, 1}));
  EXPECT_EQ(cluster.topology.link_overrides[1].bytes_per_second, std::nullopt);
  EXPECT_DOUBLE_EQ(cluster.topology.link_overrides[1].extra_latency, 2e-3);
  ASSERT_EQ(cluster.topology.paths.size(), 3u);
  EXPECT_EQ(cluster.topology.paths[0].a, (Place{Place::Kind::rack, 0}));
  EXPECT_EQ(cluster.topology.paths[0].b, (Place{Place::Kind::rack, 1}));
  EXPECT_EQ(cluster.topology.paths[0].link.bytes_per_second, 1e6);
  EXPECT_DOUBLE_EQ(cluster.topology.paths[0].link.latency, 3e-3);
  EXPECT_EQ(cluster.topology.paths[1].b, (Place{Place::Kind::worker, 5}));
  EXPECT_EQ(cluster.topology.paths[1].link.bytes_per_second, kUnlimited);
  EXPECT_DOUBLE_EQ(cluster.topology.paths[1].link.latency,
                   10e-3);                                         // The general one between racks.
  EXPECT_DOUBLE_EQ(cluster.topology.paths[2].link.latency, 1e-3);  // And inside one.
}

TEST(ClusterFile, ReadsDisturbancesOfTheNetwork) {
  const Cluster cluster = read(R"(
    workers = 3
    [network]
    nic = "10Gbps"
    [[background]]
    worker = 1
    direction = "in"
    rate = "4Gbps"
    from = "10s"
    until = "30s"
    [[background]]
    worker = 2
    rate = "40Gbps"
    elastic = true
    [[varying]]
    workers = "all"
    lowest = 0.2
    [[varying]]
    worker = 1
    lowest = 0.5
    highest = 2
    every = "100ms"
    [[cut]]
    worker = 2
    time = "5s"
  )");
  ASSERT_EQ(cluster.background.size(), 2u);
  EXPECT_EQ(cluster.background[0].place, (Place{Place::Kind::worker, 1}));
  EXPECT_EQ(cluster.background[0].direction, Direction::in);
  EXPECT_EQ(cluster.background[0].bytes_per_second, 5e8);
  EXPECT_FALSE(cluster.background[0].elastic);
  EXPECT_EQ(cluster.background[0].from, 10);
  EXPECT_EQ(cluster.background[0].until, 30);
  EXPECT_EQ(cluster.background[1].direction, Direction::both);
  EXPECT_TRUE(cluster.background[1].elastic);
  EXPECT_EQ(cluster.background[1].until, kForever);
  ASSERT_EQ(cluster.variations.size(), 4u);
  for (int worker = 0; worker < 3; ++worker) {
    const Variation& variation = cluster.variations[static_cast<std::size_t>(worker)];
    EXPECT_EQ(variation.place, (Place{Place::Kind::worker, worker}));
    EXPECT_EQ(variation.lowest, 0.2);
    EXPECT_EQ(variation.highest, 1);
    EXPECT_EQ(variation.every, 1);
  }
  EXPECT_EQ(cluster.variations[3].highest, 2);
  EXPECT_DOUBLE_EQ(cluster.variations[3].every, 0.1);
  ASSERT_EQ(cluster.cuts.size(), 1u);
  EXPECT_EQ(cluster.cuts[0].time, 5);
}

TEST(ClusterFile, ReadsHowWorkersCompute) {
  const Cluster cluster = read(R"(
    workers = 4
    [compute]
    step = "35ms"
    backward = 0.5
    jitter = 0.1
    jitter_kind = "half_normal"
    wander = 0.3
    wander_steps = 100
    [[slow]]
    worker = 3
    factor = 2
    [[slow]]
    worker = 1
    factor = 1.5
    from_step = 10
    to_step = 20
    [random_slow]
    workers = 2
    factor = 3.5
    [[pause]]
    probability = 0.1
    time = "100ms"
    [[pause]]
    probability = 1
    time = "1s"
    worker = 2
    [model]
    wire = "102.4MB"
  )");
  EXPECT_DOUBLE_EQ(cluster.compute_per_step, 0.035);
  EXPECT_EQ(cluster.backward_share, 0.5);
  EXPECT_EQ(cluster.jitter, 0.1);
  EXPECT_EQ(cluster.jitter_kind, Cluster::Jitter::half_normal);
  EXPECT_EQ(cluster.wander.amplitude, 0.3);
  EXPECT_EQ(cluster.wander.period_steps, 100);
  ASSERT_EQ(cluster.slowdowns.size(), 2u);
  EXPECT_EQ(cluster.slowdowns[0].worker, WorkerId{3});
  EXPECT_EQ(cluster.slowdowns[0].factor, 2);
  EXPECT_EQ(cluster.slowdowns[0].first, Step{0});
  EXPECT_GT(cluster.slowdowns[0].last, Step{1'000'000'000'000});
  EXPECT_EQ(cluster.slowdowns[1].first, Step{10});
  EXPECT_EQ(cluster.slowdowns[1].last, Step{20});
  EXPECT_EQ(cluster.random_slowdown.workers, 2);
  EXPECT_EQ(cluster.random_slowdown.factor, 3.5);
  ASSERT_EQ(cluster.pauses.size(), 2u);
  EXPECT_EQ(cluster.pauses[0].probability, 0.1);
  EXPECT_DOUBLE_EQ(cluster.pauses[0].seconds, 0.1);
  EXPECT_EQ(cluster.pauses[0].worker, std::nullopt);
  EXPECT_EQ(cluster.pauses[1].worker, WorkerId{2});
  EXPECT_DOUBLE_EQ(cluster.wire_bytes, 102.4e6);
}

TEST(ClusterFile, ReadsDeathsAndHalts) {
  const Cluster cluster = read(R"(
    workers = 4
    [[death]]
    worker = 3
    step = 10
    after_operations = 2
    [[death]]
    worker = 2
    time = "5s"
    [[halt]]
    worker = 1
    time = "6s"
    for = "2s"
  )");
  ASSERT_EQ(cluster.deaths.size(), 2u);
  EXPECT_EQ(cluster.deaths[0].worker, WorkerId{3});
  EXPECT_EQ(cluster.deaths[0].step, Step{10});
  EXPECT_EQ(cluster.deaths[0].after_operations, 2);
  EXPECT_EQ(cluster.deaths[0].time, std::nullopt);
  EXPECT_EQ(cluster.deaths[1].time, 5);
  ASSERT_EQ(cluster.halts.size(), 1u);
  EXPECT_EQ(cluster.halts[0].worker, WorkerId{1});
  EXPECT_EQ(cluster.halts[0].from, 6);
  EXPECT_EQ(cluster.halts[0].seconds, 2);
}

TEST(ClusterFile, ReadsEveryClusterThatComesWithHuddle) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("clusters")) {
    SCOPED_TRACE(entry.path().string());
    const Cluster cluster = read_cluster_file(entry.path());
    EXPECT_GE(cluster.workers, 8);
    EXPECT_LT(cluster.topology.nic_bytes_per_second, kUnlimited);
    EXPECT_GT(cluster.compute_per_step, 0);
    EXPECT_GT(cluster.wire_bytes, 0);
    ++files;
  }
  EXPECT_GE(files, 5);
}

TEST(ClusterFile, ReadsTheExampleOfItsDocumentation) {
  std::ifstream file("docs/clusters.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string opening = "```toml\n";
  const std::size_t begin = text.find(opening);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = text.find("```", begin + opening.size());
  const Cluster cluster = read(text.substr(begin + opening.size(), end - begin - opening.size()));
  EXPECT_EQ(cluster.name, "two racks, 4:1");
  EXPECT_EQ(cluster.topology.uplink_bytes_per_second, 1.25e9);
  EXPECT_EQ(cluster.deaths.size(), 1u);
}

TEST(ClusterFile, ReadsWhatTheExamplesSay) {
  const Cluster racks = read_cluster_file("clusters/oversubscribed_racks.toml");
  EXPECT_EQ(racks.workers, 16);
  EXPECT_EQ(racks.topology.rack_count(), 4);
  EXPECT_EQ(racks.topology.uplink_bytes_per_second, 1.25e9);
  const Cluster wan = read_cluster_file("clusters/wan_sites.toml");
  EXPECT_EQ(wan.topology.rack_count(), 3);
  EXPECT_EQ(wan.topology.paths.size(), 3u);
  const Cluster lab = read_cluster_file("clusters/heterogeneous_lab.toml");
  EXPECT_EQ(lab.slowdowns.size(), 3u);
  EXPECT_EQ(lab.pauses.size(), 2u);
  const Cluster sensors = read_cluster_file("clusters/wireless_sensors.toml");
  EXPECT_EQ(sensors.workers, 12);
  EXPECT_EQ(sensors.variations.size(), 12u);
  EXPECT_EQ(sensors.halts.size(), 1u);
}

}  // namespace
}  // namespace huddle
