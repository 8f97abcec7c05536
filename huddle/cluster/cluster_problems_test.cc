#include "huddle/cluster/cluster_problems.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "huddle/base/text.h"
#include "tests/support/places.h"

namespace huddle {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Place kNoWorker{Place::Kind::worker, 6};
constexpr Place kNoRack{Place::Kind::rack, 2};

Cluster racks_of_three() {
  Cluster cluster;
  cluster.workers = 6;
  cluster.topology = in_racks({3, 3});
  cluster.topology.nic_bytes_per_second = 1000;
  cluster.topology.uplink_bytes_per_second = 3000;
  cluster.compute_per_step = 0.1;
  return cluster;
}

using Change = std::function<void(Cluster&)>;

std::vector<std::string> problems_after(const Change& change) {
  Cluster cluster = racks_of_three();
  change(cluster);
  return cluster.problems();
}

// The change makes exactly one problem, with `part` in its sentence.
void expect_problem(const std::string& part, const Change& change) {
  const std::vector<std::string> problems = problems_after(change);
  EXPECT_EQ(problems.size(), 1u) << joined(problems, "\n");
  const std::string all = joined(problems, "\n");
  EXPECT_NE(all.find(part), std::string::npos) << part << " is not in: " << all;
  EXPECT_TRUE(all.ends_with('.'));
}

void expect_none(const Change& change) { EXPECT_EQ(joined(problems_after(change), "\n"), ""); }

TEST(ClusterProblems, AreNoneInAClusterWithEverythingInOrder) {
  expect_none([](Cluster& cluster) {
    cluster.topology.latency_in_rack = 0.1;
    cluster.topology.link_overrides = {
        {.place = kWorker1, .bytes_per_second = 10, .extra_latency = 1}, {.place = kRack1}};
    cluster.topology.paths = {{kRack0, kRack1, {}},
                              {{Place::Kind::worker, 0}, kWorker1, {0.5, 10}}};
    cluster.background = {{.place = kRack0, .bytes_per_second = 2999},
                          {.place = kRack0, .bytes_per_second = 1e9, .elastic = true}};
    cluster.variations = {{.place = kWorker1, .lowest = 0.5, .highest = 2, .every = 0.1}};
    cluster.cuts = {{.place = kRack0, .time = 3}};
    cluster.backward_share = 1;
    cluster.jitter = 0.1;
    cluster.slowdowns = {{.worker = {5}, .factor = 0.5, .first = {3}, .last = {3}}};
    cluster.random_slowdown = {.workers = 6, .factor = 3};
    cluster.pauses = {{.probability = 1, .seconds = 0.1, .worker = WorkerId{5}}};
    cluster.wander = {.amplitude = 0.99, .period_steps = 0.5};
    cluster.deaths = {{.worker = {5}, .step = {3}, .after_operations = 2},
                      {.worker = {4}, .step = {}, .time = 0.5}};
    cluster.halts = {{.worker = {5}, .from = 0, .seconds = 1}};
    cluster.wire_bytes = 1e9;
  });
}

TEST(ClusterProblems, SayWhichPartTheyComeFrom) {
  Cluster cluster = racks_of_three();
  cluster.halts = {{.worker = {0}, .from = 1, .seconds = 1}, {.worker = {7}}};
  cluster.topology.nic_bytes_per_second = 0;
  const std::vector<ClusterProblem> problems = find_problems(cluster);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].part, ClusterProblem::Part::network);
  EXPECT_EQ(problems[1].part, ClusterProblem::Part::halt);
  EXPECT_EQ(problems[1].index, 1u);
}

TEST(ClusterProblems, AreNumbersOfWorkersThatCannotBe) {
  expect_problem("workers is 0;", [](Cluster& cluster) { cluster.workers = 0; });
  expect_problem("workers is -2;", [](Cluster& cluster) { cluster.workers = -2; });
  expect_problem("there are 6 workers, but 8 have racks", [](Cluster& cluster) {
    cluster.topology.racks = in_racks({4, 4}).racks;
  });
  expect_problem("go from -1 to 1", [](Cluster& cluster) { cluster.topology.racks[2] = -1; });
  expect_problem("none left out", [](Cluster& cluster) { cluster.topology.racks[5] = 3; });
}

TEST(ClusterProblems, AreHostsThatCannotBe) {
  expect_none([](Cluster& cluster) { cluster.topology.hosts = {0, 0, 1, 3, 2, 2}; });
  expect_problem("but 2 have hosts", [](Cluster& cluster) { cluster.topology.hosts = {0, 0}; });
  expect_problem("none left out",
                 [](Cluster& cluster) { cluster.topology.hosts = {0, 0, 1, 3, 3, 3}; });
  expect_problem("host 1 has workers in two racks",
                 [](Cluster& cluster) { cluster.topology.hosts = {0, 0, 1, 1, 2, 2}; });
  expect_problem("workers of one host", [](Cluster& cluster) {
    cluster.topology.hosts = {0, 0, 0, 1, 1, 1};
    cluster.topology.paths = {{kWorker1, {Place::Kind::worker, 2}, {}}};
  });
  expect_problem("described twice", [](Cluster& cluster) {
    cluster.topology.hosts = {0, 0, 0, 1, 1, 1};
    cluster.topology.link_overrides = {{.place = kWorker1}, {.place = {Place::Kind::worker, 2}}};
  });
}

TEST(ClusterProblems, MentionAbsentWorkersOnlyOnce) {
  expect_problem("workers is 0;", [](Cluster& cluster) {
    cluster.workers = 0;
    cluster.halts = {{.worker = {0}, .from = 1, .seconds = 1}};
    cluster.topology.link_overrides = {{.place = kRack1}};
  });
}

TEST(ClusterProblems, AreLatenciesAndBandwidthsThatCannotBe) {
  expect_problem("inside a rack is -1 s",
                 [](Cluster& cluster) { cluster.topology.latency_in_rack = -1; });
  expect_problem("latency between racks is nan",
                 [](Cluster& cluster) { cluster.topology.latency_between_racks = kNan; });
  expect_problem("latency between racks is inf",
                 [](Cluster& cluster) { cluster.topology.latency_between_racks = kForever; });
  expect_problem("worker's connection is 0 bytes/s",
                 [](Cluster& cluster) { cluster.topology.nic_bytes_per_second = 0; });
  expect_problem("uplink is nan",
                 [](Cluster& cluster) { cluster.topology.uplink_bytes_per_second = kNan; });
  expect_none([](Cluster& cluster) { cluster.topology.nic_bytes_per_second = kUnlimited; });
}

TEST(ClusterProblems, AreLinksThatCannotBe) {
  expect_problem("the connection of worker 1 is -5", [](Cluster& cluster) {
    cluster.topology.link_overrides = {{.place = kWorker1, .bytes_per_second = -5}};
  });
  expect_problem("extra latency of the connection of rack 1 is -1", [](Cluster& cluster) {
    cluster.topology.link_overrides = {{.place = kRack1, .extra_latency = -1}};
  });
  expect_problem("worker 1 is described twice", [](Cluster& cluster) {
    cluster.topology.link_overrides = {{.place = kWorker1}, {.place = kRack1}, {.place = kWorker1}};
  });
}

TEST(ClusterProblems, ArePlacesThatDoNotExist) {
  expect_problem("a link names worker 6, but the workers are 0 to 5", [](Cluster& cluster) {
    cluster.topology.link_overrides = {{.place = kNoWorker}};
  });
  expect_problem("a link names rack 2, but the racks are 0 to 1",
                 [](Cluster& cluster) { cluster.topology.link_overrides = {{.place = kNoRack}}; });
  expect_problem("a path names worker 6", [](Cluster& cluster) {
    cluster.topology.paths = {{kWorker1, kNoWorker, {}}};
  });
  expect_problem("background traffic names rack 2", [](Cluster& cluster) {
    cluster.background = {{.place = kNoRack, .bytes_per_second = 1}};
  });
  expect_problem("a variation names worker 6",
                 [](Cluster& cluster) { cluster.variations = {{.place = kNoWorker}}; });
  expect_problem("a cut names worker -1", [](Cluster& cluster) {
    cluster.cuts = {{.place = {Place::Kind::worker, -1}}};
  });
  expect_problem("needs at least 2 racks", [](Cluster& cluster) {
    cluster.topology.racks.clear();
    cluster.cuts = {{.place = kRack0}};
  });
}

TEST(ClusterProblems, AreWorkersThatDoNotExist) {
  expect_problem("a slowdown names worker 6", [](Cluster& cluster) {
    cluster.slowdowns = {{.worker = {6}, .factor = 1, .first = {}}};
  });
  expect_problem("a pause names worker 6", [](Cluster& cluster) {
    cluster.pauses = {{.probability = 1, .seconds = 1, .worker = WorkerId{6}}};
  });
  expect_problem("a death names worker 6",
                 [](Cluster& cluster) { cluster.deaths = {{.worker = {6}, .step = {}}}; });
  expect_problem("a halt names worker -1",
                 [](Cluster& cluster) { cluster.halts = {{.worker = {-1}}}; });
}

TEST(ClusterProblems, ArePathsThatJoinNothingOrAreDoubled) {
  expect_problem("joins different kinds", [](Cluster& cluster) {
    cluster.topology.paths = {{kWorker1, kRack1, {}}};
  });
  expect_problem("joins the same place", [](Cluster& cluster) {
    cluster.topology.paths = {{kWorker1, kWorker1, {}}};
  });
  expect_problem("the path between rack 1 and rack 0 is described twice", [](Cluster& cluster) {
    cluster.topology.paths = {{kRack0, kRack1, {}}, {kRack1, kRack0, {}}};
  });
  expect_problem("the latency of the path between rack 0 and rack 1 is -1", [](Cluster& cluster) {
    cluster.topology.paths = {{kRack0, kRack1, {.latency = -1}}};
  });
  expect_problem("the bandwidth of the path between rack 0 and rack 1 is 0", [](Cluster& cluster) {
    cluster.topology.paths = {{kRack0, kRack1, {.bytes_per_second = 0}}};
  });
}

TEST(ClusterProblems, AreBackgroundTrafficThatCannotBe) {
  for (const double rate : {0.0, -1.0, kNan, kUnlimited})
    expect_problem("the rate of the background traffic of worker 1", [=](Cluster& cluster) {
      cluster.background = {{.place = kWorker1, .bytes_per_second = rate}};
    });
  expect_problem("from 5 s until 5 s; it must begin before it ends", [](Cluster& cluster) {
    cluster.background = {{.place = kWorker1, .bytes_per_second = 1, .from = 5, .until = 5}};
  });
  expect_problem("beginning of the background traffic of worker 1 is -1", [](Cluster& cluster) {
    cluster.background = {{.place = kWorker1, .bytes_per_second = 1, .from = -1}};
  });
}

TEST(ClusterProblems, AreBackgroundTrafficThatLeavesNothing) {
  expect_problem("takes 1000 bytes/s of worker 1 out at 0 s", [](Cluster& cluster) {
    cluster.background = {
        {.place = kWorker1, .direction = Direction::out, .bytes_per_second = 1000}};
  });
  const auto with_two = [](Background first, Background second) {
    return [=](Cluster& cluster) { cluster.background = {first, second}; };
  };
  const Background out{.place = kWorker1, .direction = Direction::out, .bytes_per_second = 600};
  Background later = out;
  later.from = 7;
  expect_problem("takes 1200 bytes/s of worker 1 out at 7 s", with_two(out, later));
  expect_problem("takes 1200 bytes/s of worker 1 out at 0 s", with_two(out, out));
  Background in = out;
  in.direction = Direction::in;
  expect_none(with_two(out, in));
  Background elsewhere = out;
  elsewhere.place = kRack1;
  expect_none(with_two(out, elsewhere));
  Background over = out;
  over.until = 7;
  expect_none(with_two(over, later));
  Background elastic = out;
  elastic.elastic = true;
  expect_none(with_two(out, elastic));
}

TEST(ClusterProblems, CountTheBandwidthOfAnOverrideForBackgroundTraffic) {
  const auto change = [](Cluster& cluster, double bandwidth) {
    cluster.topology.link_overrides = {{.place = kWorker1, .bytes_per_second = bandwidth}};
    cluster.background = {
        {.place = kWorker1, .direction = Direction::in, .bytes_per_second = 1500}};
  };
  expect_none([&](Cluster& cluster) { change(cluster, 2000); });
  expect_problem("of worker 1 in", [&](Cluster& cluster) { change(cluster, 500); });
}

TEST(ClusterProblems, AreDisturbancesOfConnectionsWithoutABound) {
  expect_problem("nothing to share", [](Cluster& cluster) {
    cluster.topology.nic_bytes_per_second = kUnlimited;
    cluster.background = {{.place = kWorker1, .bytes_per_second = 1}};
  });
  expect_problem("the variation of rack 1 is on the connection of rack 1", [](Cluster& cluster) {
    cluster.topology.uplink_bytes_per_second = kUnlimited;
    cluster.variations = {{.place = kRack1}};
  });
  expect_none([](Cluster& cluster) {
    cluster.topology.nic_bytes_per_second = kUnlimited;
    cluster.cuts = {{.place = kWorker1}};
  });
}

TEST(ClusterProblems, AreVariationsAndCutsThatCannotBe) {
  const auto varying = [](double lowest, double highest) {
    return [=](Cluster& cluster) {
      cluster.variations = {{.place = kWorker1, .lowest = lowest, .highest = highest}};
    };
  };
  expect_problem("goes from 0 to 1", varying(0, 1));
  expect_problem("goes from 0.5 to 0.4", varying(0.5, 0.4));
  expect_problem("goes from 0.5 to inf", varying(0.5, kUnlimited));
  expect_problem("goes from nan to 1", varying(kNan, 1));
  expect_none(varying(0.5, 0.5));
  expect_problem("time between draws of the variation of worker 1 is 0 s",
                 [](Cluster& cluster) { cluster.variations = {{.place = kWorker1, .every = 0}}; });
  expect_problem("time of the cut of rack 1 is -1 s",
                 [](Cluster& cluster) { cluster.cuts = {{.place = kRack1, .time = -1}}; });
}

TEST(ClusterProblems, AreComputeTimesThatCannotBe) {
  expect_problem("compute time per step is -1",
                 [](Cluster& cluster) { cluster.compute_per_step = -1; });
  expect_problem("compute time per step is nan",
                 [](Cluster& cluster) { cluster.compute_per_step = kNan; });
  expect_problem("backward in the compute time is 1.5; it must be between 0 and 1",
                 [](Cluster& cluster) { cluster.backward_share = 1.5; });
  expect_problem("jitter is -0.5", [](Cluster& cluster) { cluster.jitter = -0.5; });
  for (const double factor : {0.0, -1.0, kNan, kUnlimited})
    expect_problem("the factor of the slowdown of worker 0", [=](Cluster& cluster) {
      cluster.slowdowns = {{.worker = {0}, .factor = factor, .first = {}}};
    });
  expect_problem("from step 5 to step 4", [](Cluster& cluster) {
    cluster.slowdowns = {{.worker = {0}, .factor = 1, .first = {5}, .last = {4}}};
  });
  expect_problem("from step -1", [](Cluster& cluster) {
    cluster.slowdowns = {{.worker = {0}, .factor = 1, .first = {-1}}};
  });
}

TEST(ClusterProblems, AreRandomSlowdownsAndWanderThatCannotBe) {
  expect_problem("hits 7 workers of 6",
                 [](Cluster& cluster) { cluster.random_slowdown.workers = 7; });
  expect_problem("hits -1 workers", [](Cluster& cluster) { cluster.random_slowdown.workers = -1; });
  expect_problem("factor of the random slowdown is 0",
                 [](Cluster& cluster) { cluster.random_slowdown.factor = 0; });
  expect_problem("amplitude of the wander is 1; it must be at least 0 and less than 1",
                 [](Cluster& cluster) { cluster.wander.amplitude = 1; });
  expect_problem("period of the wander is 0",
                 [](Cluster& cluster) { cluster.wander.period_steps = 0; });
}

TEST(ClusterProblems, ArePausesThatCannotBe) {
  expect_problem("probability of a pause is 1.1",
                 [](Cluster& cluster) { cluster.pauses = {{.probability = 1.1, .seconds = 1}}; });
  expect_problem("time of a pause is -1",
                 [](Cluster& cluster) { cluster.pauses = {{.probability = 0.1, .seconds = -1}}; });
  expect_problem("the compute time per step is 0 s; a pause is spread over it",
                 [](Cluster& cluster) {
                   cluster.compute_per_step = 0;
                   cluster.pauses = {{.probability = 0.1, .seconds = 1}};
                 });
}

TEST(ClusterProblems, AreDeathsHaltsAndSizesThatCannotBe) {
  expect_problem("is at step -1 after 0 operations",
                 [](Cluster& cluster) { cluster.deaths = {{.worker = {0}, .step = {-1}}}; });
  expect_problem("after -1 operations", [](Cluster& cluster) {
    cluster.deaths = {{.worker = {0}, .step = {}, .after_operations = -1}};
  });
  expect_problem("time of the death of worker 0 is -1", [](Cluster& cluster) {
    cluster.deaths = {{.worker = {0}, .step = {}, .time = -1}};
  });
  expect_problem("one or the other", [](Cluster& cluster) {
    cluster.deaths = {{.worker = {0}, .step = {4}, .time = 1}};
  });
  expect_problem("beginning of the halt of worker 0 is -1", [](Cluster& cluster) {
    cluster.halts = {{.worker = {0}, .from = -1, .seconds = 1}};
  });
  expect_problem("length of the halt of worker 0 is inf", [](Cluster& cluster) {
    cluster.halts = {{.worker = {0}, .from = 1, .seconds = kForever}};
  });
  for (const double bytes : {-1.0, 999.0, 1.1e14, kNan, kUnlimited})
    expect_problem("model on the wire is", [=](Cluster& cluster) { cluster.wire_bytes = bytes; });
  expect_problem("which take 1e+11 s over a link of 1000 bytes/s; it must be at most 1e+12 bytes",
                 [](Cluster& cluster) { cluster.wire_bytes = 1e14; });
  expect_none([](Cluster& cluster) {
    cluster.wire_bytes = 1e14;
    cluster.topology.nic_bytes_per_second = cluster.topology.uplink_bytes_per_second = 1e9;
  });
}

// Every number that a file may hold, in turn, beyond what can be told or would ever end.
TEST(ClusterProblems, AreExtremesOfEveryTime) {
  const std::string time = "it must be from 0 to 1e+09 s.";
  for (const double seconds : {1.1e9, 1e300}) {
    expect_problem(time, [=](Cluster& cluster) { cluster.compute_per_step = seconds; });
    expect_problem(time, [=](Cluster& cluster) { cluster.topology.latency_in_rack = seconds; });
    expect_problem(time,
                   [=](Cluster& cluster) { cluster.topology.latency_between_racks = seconds; });
    expect_problem(time, [=](Cluster& cluster) {
      cluster.topology.link_overrides = {{.place = kWorker1, .extra_latency = seconds}};
    });
    expect_problem(time, [=](Cluster& cluster) {
      cluster.topology.paths = {{kRack0, kRack1, {.latency = seconds}}};
    });
    expect_problem(time, [=](Cluster& cluster) {
      cluster.background = {{.place = kWorker1, .bytes_per_second = 1, .from = seconds}};
    });
    expect_problem(time, [=](Cluster& cluster) {
      cluster.background = {{.place = kWorker1, .bytes_per_second = 1, .until = seconds}};
    });
    expect_problem(
        time, [=](Cluster& cluster) { cluster.cuts = {{.place = kWorker1, .time = seconds}}; });
    expect_problem(
        time, [=](Cluster& cluster) { cluster.pauses = {{.probability = 1, .seconds = seconds}}; });
    expect_problem(time, [=](Cluster& cluster) {
      cluster.deaths = {{.worker = {0}, .step = {}, .time = seconds}};
    });
    expect_problem(time,
                   [=](Cluster& cluster) { cluster.halts = {{.worker = {0}, .from = seconds}}; });
    expect_problem(time, [=](Cluster& cluster) {
      cluster.halts = {{.worker = {0}, .from = 0, .seconds = seconds}};
    });
  }
}

TEST(ClusterProblems, AreExtremesOfEveryOtherNumber) {
  expect_problem("from 1e-06 to 1e+09 s", [](Cluster& cluster) {
    cluster.variations = {{.place = kWorker1, .every = 1e-9}};
  });
  expect_problem("at least 1e-06", [](Cluster& cluster) {
    cluster.variations = {{.place = kWorker1, .lowest = 1e-300, .highest = 1}};
  });
  expect_problem("at most 1e+06", [](Cluster& cluster) {
    cluster.variations = {{.place = kWorker1, .lowest = 1, .highest = 1e300}};
  });
  expect_problem("at least 0.125 bytes/s (1 bps)",
                 [](Cluster& cluster) { cluster.topology.nic_bytes_per_second = 1e-300; });
  expect_problem("from 0 to 100", [](Cluster& cluster) { cluster.jitter = 1e300; });
  expect_problem("from 0.1 to 1e+09 steps",
                 [](Cluster& cluster) { cluster.wander.period_steps = 1e-300; });
  expect_problem("at least 1e-09 s", [](Cluster& cluster) {
    cluster.compute_per_step = 1e-300;
    cluster.pauses = {{.probability = 0.1, .seconds = 1}};
  });
  for (const double factor : {1e-300, 1e300}) {
    expect_problem("from 1e-06 to 1e+06", [=](Cluster& cluster) {
      cluster.slowdowns = {{.worker = {0}, .factor = factor, .first = {}}};
    });
    expect_problem("from 1e-06 to 1e+06",
                   [=](Cluster& cluster) { cluster.random_slowdown.factor = factor; });
  }
  expect_problem("a step of worker 2 takes 1e+11 s", [](Cluster& cluster) {
    cluster.slowdowns.assign(2, {.worker = {2}, .factor = 1e6, .first = {}});
  });
}

}  // namespace
}  // namespace huddle
