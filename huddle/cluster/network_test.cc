#include "huddle/cluster/network.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "tests/support/places.h"

namespace huddle {
namespace {

Cluster linked_racks() {
  Cluster cluster;
  cluster.workers = 6;
  cluster.topology = in_racks({3, 3});
  cluster.topology.nic_bytes_per_second = 1000;
  cluster.topology.uplink_bytes_per_second = 2000;
  cluster.topology.latency_in_rack = 1;
  cluster.topology.latency_between_racks = 10;
  return cluster;
}

std::vector<std::string> names(const Network& network, const std::vector<int>& links) {
  std::vector<std::string> names;
  for (const int link : links)
    names.push_back(network.links()[static_cast<std::size_t>(link)].name);
  return names;
}

std::vector<std::string> names_on_route(const Network& network, int from, int to) {
  return names(network, network.route({from}, {to}).links);
}

using Names = std::vector<std::string>;

TEST(Network, ListsNothingOfAClusterWithoutBounds) {
  Cluster cluster;
  cluster.workers = 4;
  const Network network(cluster);
  EXPECT_TRUE(network.links().empty());
  EXPECT_TRUE(network.is_free());
  EXPECT_TRUE(network.route({0}, {3}).is_free());
  EXPECT_TRUE(network.links_at(kWorker0, Direction::both).empty());
}

TEST(Network, RefusesAClusterWithProblems) {
  Cluster cluster;
  cluster.workers = 0;
  EXPECT_THROW(Network{cluster}, UsageError);
}

TEST(Network, ListsBothDirectionsOfEveryConnectionThatBinds) {
  const Network network(linked_racks());
  ASSERT_EQ(network.links().size(), 2u * (6 + 2));
  EXPECT_EQ(names(network, network.links_at(kWorker1, Direction::both)),
            (Names{"worker 1 out", "worker 1 in"}));
  EXPECT_EQ(names(network, network.links_at(kRack1, Direction::out)), Names{"rack 1 out"});
  EXPECT_EQ(names(network, network.links_at(kRack1, Direction::in)), Names{"rack 1 in"});
  for (const Network::NamedLink& link : network.links())
    EXPECT_EQ(link.bytes_per_second, link.name.starts_with("rack") ? 2000 : 1000);
}

TEST(Network, LeavesOutTheUplinkOfASingleRack) {
  Cluster cluster = linked_racks();
  cluster.topology.racks.clear();
  const Network network(cluster);
  EXPECT_EQ(network.links().size(), 12u);
  EXPECT_EQ(names_on_route(network, 0, 5), (Names{"worker 0 out", "worker 5 in"}));
}

TEST(Network, RoutesInsideARackPastItsUplink) {
  const Network network(linked_racks());
  EXPECT_EQ(names_on_route(network, 2, 0), (Names{"worker 2 out", "worker 0 in"}));
  EXPECT_EQ(network.route({2}, {0}).latency, 1);
}

TEST(Network, RoutesBetweenRacksOverBothUplinks) {
  const Network network(linked_racks());
  EXPECT_EQ(names_on_route(network, 4, 0),
            (Names{"worker 4 out", "rack 1 out", "rack 0 in", "worker 0 in"}));
  EXPECT_EQ(network.route({4}, {0}).latency, 10);
}

TEST(Network, RoutesFromAWorkerToItselfForFree) {
  EXPECT_TRUE(Network(linked_racks()).route({2}, {2}).is_free());
}

TEST(Network, AppliesOverridesAtBothEnds) {
  Cluster cluster = linked_racks();
  cluster.topology.link_overrides = {
      {.place = kWorker1, .bytes_per_second = 5, .extra_latency = 0.25},
      {.place = kWorker4, .extra_latency = 0.5},
      {.place = kRack1, .extra_latency = 4}};
  const Network network(cluster);
  const int out = network.links_at(kWorker1, Direction::out).front();
  EXPECT_EQ(network.links()[static_cast<std::size_t>(out)].bytes_per_second, 5);
  const int other = network.links_at(kWorker4, Direction::out).front();
  EXPECT_EQ(network.links()[static_cast<std::size_t>(other)].bytes_per_second, 1000);
  EXPECT_EQ(network.route({0}, {1}).latency, 1.25);
  EXPECT_EQ(network.route({1}, {0}).latency, 1.25);
  EXPECT_EQ(network.route({1}, {4}).latency, 10 + 0.25 + 0.5 + 4);
  EXPECT_EQ(network.route({5}, {4}).latency, 1.5);  // Does not leave its rack.
  EXPECT_EQ(network.route({0}, {2}).latency, 1);
}

TEST(Network, MayBindOneConnectionAlone) {
  Cluster cluster;
  cluster.workers = 3;
  cluster.topology.link_overrides = {{.place = kWorker1, .bytes_per_second = 5}};
  const Network network(cluster);
  EXPECT_FALSE(network.is_free());
  EXPECT_EQ(names_on_route(network, 0, 1), Names{"worker 1 in"});
  EXPECT_EQ(names_on_route(network, 1, 2), Names{"worker 1 out"});
  EXPECT_TRUE(network.route({0}, {2}).is_free());
}

TEST(Network, InsertsAPathBetweenRacks) {
  Cluster cluster = linked_racks();
  cluster.topology.paths = {{kRack1, kRack0, {.latency = 3, .bytes_per_second = 50}}};
  const Network network(cluster);
  EXPECT_EQ(
      names_on_route(network, 4, 0),
      (Names{"worker 4 out", "rack 1 out", "path rack 1 to rack 0", "rack 0 in", "worker 0 in"}));
  EXPECT_EQ(names_on_route(network, 2, 5)[2], "path rack 0 to rack 1");
  EXPECT_EQ(network.route({4}, {0}).latency, 3);
  EXPECT_EQ(network.route({0}, {1}).latency, 1);
}

TEST(Network, InsertsAPathBetweenWorkersWhoseLatencyWins) {
  Cluster cluster = linked_racks();
  cluster.topology.paths = {{kWorker0, kWorker4, {.latency = 2, .bytes_per_second = 7}},
                            {kRack0, kRack1, {.latency = 3, .bytes_per_second = 50}},
                            {kWorker0, kWorker1, {.latency = 0.5, .bytes_per_second = 7}}};
  cluster.topology.link_overrides = {{.place = kWorker1, .extra_latency = 0.25}};
  const Network network(cluster);
  EXPECT_EQ(names_on_route(network, 0, 4),
            (Names{"worker 0 out", "rack 0 out", "path rack 0 to rack 1",
                   "path worker 0 to worker 4", "rack 1 in", "worker 4 in"}));
  EXPECT_EQ(network.route({0}, {4}).latency, 2);
  EXPECT_EQ(network.route({0}, {5}).latency, 3);
  EXPECT_EQ(names_on_route(network, 1, 0),
            (Names{"worker 1 out", "path worker 1 to worker 0", "worker 0 in"}));
  EXPECT_EQ(network.route({1}, {0}).latency, 0.75);
}

TEST(Network, TakesTheLatencyOfAPathWithoutABound) {
  Cluster cluster = linked_racks();
  cluster.topology.paths = {{kRack0, kRack1, {.latency = 3}}};
  const Network network(cluster);
  EXPECT_EQ(names_on_route(network, 0, 4).size(), 4u);
  EXPECT_EQ(network.route({0}, {4}).latency, 3);
}

TEST(Network, WorkersOfOneHostShareItsConnectionAndNeedNoneAmongThemselves) {
  Cluster cluster = linked_racks();
  cluster.topology.hosts = {0, 0, 1, 2, 2, 2};
  cluster.topology.link_overrides = {{.place = kWorker1, .bytes_per_second = 500}};
  cluster.cuts = {{.place = kWorker4, .time = 7}};
  const Network network(cluster);
  EXPECT_EQ(network.links().size(), 2u * (3 + 2));
  EXPECT_TRUE(network.route({0}, {1}).is_free());
  EXPECT_EQ(names_on_route(network, 0, 2), (Names{"host 0 out", "host 1 in"}));
  EXPECT_EQ(network.route({0}, {2}).links, network.route({1}, {2}).links);
  EXPECT_EQ(names_on_route(network, 2, 5),
            (Names{"host 1 out", "rack 0 out", "rack 1 in", "host 2 in"}));
  EXPECT_EQ(network.bandwidth(network.links_at(kWorker0, Direction::out).front(), 0), 500);
  EXPECT_EQ(network.bandwidth(network.links_at({Place::Kind::worker, 5}, Direction::in).front(), 7),
            0);
  cluster = {};
  cluster.workers = 3;
  cluster.topology.hosts = {0, 0, 0};
  cluster.topology.latency_in_rack = 1;
  EXPECT_TRUE(Network(cluster).is_free());
}

TEST(Network, IsFreeUnlessARouteCostsSomething) {
  const auto is_free = [](auto change) {
    Cluster cluster;
    cluster.workers = 4;
    cluster.topology = in_racks({2, 2});
    change(cluster);
    return Network(cluster).is_free();
  };
  EXPECT_TRUE(is_free([](Cluster&) {}));
  EXPECT_FALSE(is_free([](Cluster& cluster) { cluster.topology.latency_in_rack = 1; }));
  EXPECT_FALSE(is_free([](Cluster& cluster) { cluster.topology.latency_between_racks = 1; }));
  EXPECT_FALSE(is_free([](Cluster& cluster) { cluster.topology.nic_bytes_per_second = 1; }));
  EXPECT_FALSE(is_free([](Cluster& cluster) { cluster.topology.uplink_bytes_per_second = 1; }));
  EXPECT_FALSE(is_free([](Cluster& cluster) { cluster.cuts = {{.place = kRack0}}; }));
  EXPECT_FALSE(is_free([](Cluster& cluster) {
    cluster.topology.link_overrides = {{.place = kRack0, .extra_latency = 1}};
  }));
  EXPECT_FALSE(is_free([](Cluster& cluster) {
    cluster.topology.paths = {{kWorker0, kWorker1, {.latency = 1}}};
  }));
  EXPECT_TRUE(is_free([](Cluster& cluster) {  // No two workers share a rack.
    cluster.topology = in_racks({1, 1, 1, 1});
    cluster.topology.latency_in_rack = 1;
  }));
  EXPECT_TRUE(is_free([](Cluster& cluster) {  // There is only one rack.
    cluster.topology = in_racks({4});
    cluster.topology.latency_between_racks = 1;
    cluster.topology.uplink_bytes_per_second = 1;
  }));
  EXPECT_TRUE(is_free([](Cluster& cluster) {  // Nobody to talk to.
    cluster.workers = 1;
    cluster.topology.racks.clear();
    cluster.topology.nic_bytes_per_second = 1;
  }));
}

TEST(NetworkBandwidth, StaysWithoutDisturbances) {
  const Network network(linked_racks());
  EXPECT_EQ(network.bandwidth(0, 0), 1000);
  EXPECT_EQ(network.bandwidth(0, 1e9), 1000);
  EXPECT_EQ(network.next_change(0, 0), kForever);
}

TEST(NetworkBandwidth, LosesWhatBackgroundTrafficTakesInItsTimeAndDirection) {
  Cluster cluster = linked_racks();
  cluster.background = {{.place = kWorker1,
                         .direction = Direction::in,
                         .bytes_per_second = 300,
                         .from = 2,
                         .until = 5},
                        {.place = kWorker1, .bytes_per_second = 100, .from = 4},
                        {.place = kWorker1, .bytes_per_second = 1e9, .elastic = true, .from = 1}};
  const Network network(cluster);
  const int in = network.links_at(kWorker1, Direction::in).front();
  const int out = network.links_at(kWorker1, Direction::out).front();
  EXPECT_EQ(network.bandwidth(in, 1.99), 1000);
  EXPECT_EQ(network.bandwidth(in, 2), 700);
  EXPECT_EQ(network.bandwidth(in, 4.5), 600);
  EXPECT_EQ(network.bandwidth(in, 5), 900);
  EXPECT_EQ(network.bandwidth(out, 2), 1000);
  EXPECT_EQ(network.bandwidth(out, 4), 900);
  EXPECT_EQ(network.next_change(in, 0), 2);
  EXPECT_EQ(network.next_change(in, 2), 4);
  EXPECT_EQ(network.next_change(in, 4), 5);
  EXPECT_EQ(network.next_change(in, 5), kForever);
  EXPECT_EQ(network.next_change(out, 0), 4);
  EXPECT_EQ(network.next_change(network.links_at(kWorker0, Direction::in).front(), 0), kForever);
}

TEST(NetworkBandwidth, KeepsAHundredthUnderAnyDisturbance) {
  Cluster cluster = linked_racks();
  cluster.variations = {{.place = kWorker1, .lowest = 0.1, .highest = 0.1}};
  cluster.background = {{.place = kWorker1, .bytes_per_second = 999}};
  const Network network(cluster);
  EXPECT_EQ(network.bandwidth(network.links_at(kWorker1, Direction::in).front(), 0), 10);
}

TEST(NetworkBandwidth, IsGoneAfterACut) {
  Cluster cluster = linked_racks();
  cluster.cuts = {{.place = kRack1, .time = 9}, {.place = kRack1, .time = 7}};
  cluster.background = {{.place = kRack1, .bytes_per_second = 1, .from = 8}};
  const Network network(cluster);
  for (const int link : network.links_at(kRack1, Direction::both)) {
    EXPECT_EQ(network.bandwidth(link, 6.9), 2000);
    EXPECT_EQ(network.next_change(link, 6.9), 7);
    EXPECT_EQ(network.bandwidth(link, 7), 0);
    EXPECT_EQ(network.bandwidth(link, 100), 0);
    EXPECT_EQ(network.next_change(link, 7), kForever);
  }
  EXPECT_EQ(network.bandwidth(network.links_at(kRack0, Direction::out).front(), 8), 2000);
}

TEST(NetworkBandwidth, IsUnlimitedUntilACutOfAConnectionWithoutABound) {
  Cluster cluster;
  cluster.workers = 2;
  cluster.cuts = {{.place = kWorker1, .time = 7}};
  const Network network(cluster);
  EXPECT_EQ(names_on_route(network, 0, 1), Names{"worker 1 in"});
  const int in = network.links_at(kWorker1, Direction::in).front();
  EXPECT_EQ(network.bandwidth(in, 6), kUnlimited);
  EXPECT_EQ(network.bandwidth(in, 7), 0);
}

TEST(NetworkVariation, DrawsBetweenItsBoundsOncePerInterval) {
  Cluster cluster = linked_racks();
  cluster.variations = {{.place = kWorker1, .lowest = 0.5, .highest = 1.5, .every = 2}};
  const Network network(cluster);
  const int in = network.links_at(kWorker1, Direction::in).front();
  const int out = network.links_at(kWorker1, Direction::out).front();
  double sum = 0;
  bool directions_differ = false;
  for (int k = 0; k < 4'000; ++k) {
    const double bandwidth = network.bandwidth(in, 2 * k);
    EXPECT_GE(bandwidth, 500);
    EXPECT_LT(bandwidth, 1500);
    EXPECT_EQ(network.bandwidth(in, 2 * k + 1.999), bandwidth);
    EXPECT_NE(network.bandwidth(in, 2 * k + 2), bandwidth);
    directions_differ |= network.bandwidth(out, 2 * k) != bandwidth;
    sum += bandwidth;
  }
  EXPECT_TRUE(directions_differ);
  EXPECT_NEAR(sum / 4'000, 1000, 20);  // 4 standard deviations.
}

TEST(NetworkVariation, RepeatsWithEqualSeedsAndWhateverElseIsInTheCluster) {
  Cluster cluster = linked_racks();
  cluster.variations = {{.place = kRack1, .lowest = 0.5, .highest = 1.5}};
  Cluster more = cluster;
  more.topology.nic_bytes_per_second = kUnlimited;
  more.cuts = {{.place = kWorker0}};
  more.variations.insert(more.variations.begin(), {.place = kRack0});
  Cluster other = cluster;
  other.seed = 1;
  const auto bandwidth = [](const Cluster& of) {
    const Network network(of);
    return network.bandwidth(network.links_at(kRack1, Direction::out).front(), 3);
  };
  EXPECT_EQ(bandwidth(cluster), bandwidth(cluster));
  EXPECT_EQ(bandwidth(cluster), bandwidth(more));
  EXPECT_NE(bandwidth(cluster), bandwidth(other));
}

TEST(NetworkVariation, MultipliesSeveralOfOneConnection) {
  Cluster cluster = linked_racks();
  cluster.variations = {{.place = kRack1, .lowest = 0.5, .highest = 0.5},
                        {.place = kRack1, .lowest = 0.25, .highest = 0.25}};
  const Network network(cluster);
  const int link = network.links_at(kRack1, Direction::out).front();
  EXPECT_EQ(network.bandwidth(link, 0), 250);
  EXPECT_EQ(network.next_change(link, 0), kForever);
}

TEST(NetworkVariation, ChangesStrictlyLaterAndExactlyWhenItSays) {
  for (const Seconds every : {0.1, 0.3, 1.0 / 3, 0.7, 1e-3}) {
    Cluster cluster = linked_racks();
    cluster.variations = {{.place = kWorker1, .lowest = 0.5, .highest = 1.5, .every = every}};
    const Network network(cluster);
    const int in = network.links_at(kWorker1, Direction::in).front();
    Time now = 0;
    for (int k = 0; k < 3'000; ++k) {
      const Time next = network.next_change(in, now);
      ASSERT_GT(next, now);
      ASSERT_DOUBLE_EQ(next, (k + 1) * every);
      const double before = network.bandwidth(in, now);
      ASSERT_EQ(network.bandwidth(in, std::nextafter(next, 0.0)), before);
      ASSERT_NE(network.bandwidth(in, next), before);
      now = next;
    }
  }
}

TEST(NetworkVariation, MovesOnEvenWhereTheClockCannotTellDrawsApart) {
  Cluster cluster = linked_racks();
  cluster.variations = {{.place = kWorker1, .lowest = 0.5, .highest = 1.5, .every = 1e-6}};
  const Network network(cluster);
  const int in = network.links_at(kWorker1, Direction::in).front();
  for (const Time now : {1e10, 1.23456e11, 1e12}) EXPECT_GT(network.next_change(in, now), now);
}

TEST(Network, RoutesFastEnoughForAThousandWorkers) {
  Cluster cluster = linked_racks();
  cluster.workers = 1024;
  cluster.topology.racks = in_equal_racks({.racks = 32, .workers = 32}).racks;
  for (int rack = 1; rack < 32; ++rack)
    cluster.topology.paths.push_back({kRack0, {Place::Kind::rack, rack}, {.latency = 1}});
  const Network network(cluster);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t links = 0;
  for (int from = 0; from < 1024; from += 2)
    for (int to = 0; to < 1024; ++to) links += network.route({from}, {to}).links.size();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(links, 1024u * 1024);
  EXPECT_LT(passed.count(), 3);  // Takes some 0.05 s; far more means a cost that grows.
}

}  // namespace
}  // namespace huddle
