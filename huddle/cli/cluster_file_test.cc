#include "huddle/cli/cluster_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "huddle/core/error.h"

namespace huddle {
namespace {

// A file that is gone when the test ends.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("huddle_") +
               testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml")) {
    std::ofstream(path_) << text;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Cluster read(const std::string& text) { return read_cluster_file(ScratchFile(text).path()); }

using Lines = std::vector<std::string>;

// What the file is refused with, line by line, its path replaced by "F".
Lines problems(const std::string& text) {
  const ScratchFile file(text);
  std::string message;
  try {
    read_cluster_file(file.path());
  } catch (const UsageError& error) {
    message = error.what();
  }
  Lines lines;
  std::istringstream stream(message);
  for (std::string line; std::getline(stream, line);) {
    const std::string path = file.path().string();
    EXPECT_EQ(line.find(path), 0u) << line;
    lines.push_back("F" + line.substr(std::min(path.size(), line.size())));
  }
  return lines;
}

// The file, after "workers = 4" on line 1, has one problem, which begins with `start`.
void expect_problem(const std::string& start, const std::string& text) {
  const Lines found = problems("workers = 4\n" + text);
  ASSERT_EQ(found.size(), 1u) << testing::PrintToString(found);
  EXPECT_EQ(found[0].substr(0, start.size()), start) << found[0];
}

TEST(ClusterFile, ReadsOneRack) {
  const Cluster cluster = read("name = 'mine'\nworkers = 8\n");
  EXPECT_EQ(cluster.name, "mine");
  EXPECT_EQ(cluster.workers, 8);
  EXPECT_EQ(cluster.racks(), 1);
  EXPECT_EQ(cluster.nic_bytes_per_second, kUnlimited);
  EXPECT_EQ(cluster.backward_share, 2. / 3);
}

TEST(ClusterFile, IsNamedAfterItselfWithoutAName) {
  EXPECT_EQ(read("workers = 1").name, "huddle_IsNamedAfterItselfWithoutAName");
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
  EXPECT_EQ(cluster.racks(), 2);
  EXPECT_EQ(cluster.network_model, Cluster::NetworkModel::tcp);
  EXPECT_EQ(cluster.nic_bytes_per_second, 1.25e9);
  EXPECT_EQ(cluster.uplink_bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(cluster.latency_in_rack, 1e-4);
  EXPECT_DOUBLE_EQ(cluster.latency_between_racks, 5e-4);
}

TEST(ClusterFile, DerivesTheUplinkFromTheOversubscription) {
  const Cluster cluster = read(R"(
    network = {nic = "10Gbps", oversubscription = 4, latency = "1ms"}
    racks = {count = 2, workers = 8}
  )");
  EXPECT_EQ(cluster.uplink_bytes_per_second, 2.5e9);
  EXPECT_DOUBLE_EQ(cluster.latency_between_racks, 1e-3);  // As inside a rack.
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
  ASSERT_EQ(cluster.link_overrides.size(), 2u);
  EXPECT_EQ(cluster.link_overrides[0].place, (Place{Place::Kind::worker, 3}));
  EXPECT_EQ(cluster.link_overrides[0].bytes_per_second, 1.25e8);
  EXPECT_EQ(cluster.link_overrides[0].extra_latency, 0);
  EXPECT_EQ(cluster.link_overrides[1].place, (Place{Place::Kind::rack, 1}));
  EXPECT_EQ(cluster.link_overrides[1].bytes_per_second, std::nullopt);
  EXPECT_DOUBLE_EQ(cluster.link_overrides[1].extra_latency, 2e-3);
  ASSERT_EQ(cluster.paths.size(), 3u);
  EXPECT_EQ(cluster.paths[0].a, (Place{Place::Kind::rack, 0}));
  EXPECT_EQ(cluster.paths[0].b, (Place{Place::Kind::rack, 1}));
  EXPECT_EQ(cluster.paths[0].link.bytes_per_second, 1e6);
  EXPECT_DOUBLE_EQ(cluster.paths[0].link.latency, 3e-3);
  EXPECT_EQ(cluster.paths[1].b, (Place{Place::Kind::worker, 5}));
  EXPECT_EQ(cluster.paths[1].link.bytes_per_second, kUnlimited);
  EXPECT_DOUBLE_EQ(cluster.paths[1].link.latency, 10e-3);  // The general one between racks.
  EXPECT_DOUBLE_EQ(cluster.paths[2].link.latency, 1e-3);   // And inside one.
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

TEST(ClusterFileProblems, AreListedAllAtOnceInTheOrderOfLines) {
  EXPECT_EQ(problems(R"(workers = 4
color = 3
[compute]
step = "35ms"
jitter = -1
[network]
latencey = "0.1ms"
nic = 10
[[slow]]
worker = 4
factor = 2
[netwrok]
x = 1
)"),
            (Lines{"F:2: unknown key 'color' in the top level; known: workers, name.",
                   "F:5: 'jitter' in [compute] is -1; write a number that is finite and not "
                   "negative, for example 0.5.",
                   "F:7: unknown key 'latencey' in [network]; did you mean 'latency'?",
                   "F:8: 'nic' in [network] is 10 without a unit; write for example \"10Gbps\".",
                   "F:9: a slowdown names worker 4, but the workers are 0 to 3.",
                   "F:12: unknown section 'netwrok'; did you mean 'network'?"}));
}

TEST(ClusterFileProblems, NameTheLineOfASyntaxError) {
  const Lines found = problems("workers = 4\n\n[network\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].find("F:3: this is no TOML."), 0u) << found[0];
}

TEST(ClusterFileProblems, NameAFileThatCannotBeRead) {
  for (const std::filesystem::path path : {"clusters/none.toml", "clusters"}) {
    try {
      read_cluster_file(path);
      ADD_FAILURE() << "not refused: " << path;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find(path.string() + ": this file cannot be read"), 0u);
    }
  }
}

TEST(ClusterFileProblems, AreValuesOfTheWrongKind) {
  expect_problem("F:2: 'name' in the top level is 5; write a text", "name = 5");
  expect_problem("F:3: 'jitter' in [compute] is \"much\"; write a number",
                 "[compute]\njitter = 'much'");
  expect_problem("F:3: 'jitter' in [compute] is inf;", "[compute]\njitter = inf");
  expect_problem("F:4: 'worker' in [[slow]] is 1.5; write a whole number",
                 "[[slow]]\nfactor = 1\nworker = 1.5");
  expect_problem("F:4: 'worker' in [[slow]] is -1; write a whole number",
                 "[[slow]]\nfactor = 1\nworker = -1");
  expect_problem("F:3: 'racks' in [[path]] is a list; write two whole numbers, for example [0, 1]",
                 "[[path]]\nracks = [0, 1, 2]");
  expect_problem(
      "F:3: 'model' in [network] is \"alpha-beta\"; write one of \"alpha_beta\", "
      "\"tcp\"; perhaps \"alpha_beta\".",
      "[network]\nmodel = 'alpha-beta'");
  expect_problem("F:3: 'elastic' in [[background]] is \"yes\"; write true or false",
                 "[[background]]\nelastic = 'yes'\nworker = 1\nrate = '1Gbps'");
  expect_problem("F:3: 'latency' in [network] is a date or time;",
                 "[network]\nlatency = 1979-05-27");
}

TEST(ClusterFileProblems, AreUnitsThatAreMissingWrongOrNegative) {
  expect_problem("F:3: 'latency' in [network] is 0.5 without a unit; write for example \"0.1ms\".",
                 "[network]\nlatency = 0.5");
  expect_problem(
      "F:3: 'nic' in [network]: '10GB' is not a non-negative number with one of the "
      "units bps, kbps, Mbps, Gbps",
      "[network]\nnic = '10GB'");
  expect_problem("F:3: 'latency' in [network]: '-1ms' is not", "[network]\nlatency = '-1ms'");
  expect_problem("F:3: 'wire' in [model] is true; write a number with a unit",
                 "[model]\nwire = true");
}

TEST(ClusterFileProblems, AreSectionsOfTheWrongForm) {
  expect_problem("F:2: 'slow' is a section; there may be several, so write each as [[slow]].",
                 "[slow]\nworker = 1\nfactor = 2");
  expect_problem("F:2: 'network' is a list; write it as a section, [network].", "[[network]]");
  expect_problem("F:2: 'compute' is 3; write it as a section", "compute = 3");
  expect_problem("F:2: unknown section 'slowdown'; did you mean 'slow'?", "[[slowdown]]");
}

TEST(ClusterFileProblems, AreKeysThatAreMissing) {
  expect_problem("F:2: [[slow]] has no 'factor', which it needs.", "[[slow]]\nworker = 1");
  expect_problem("F:2: [[halt]] has no 'for', which", "[[halt]]\nworker = 1\ntime = '1s'");
  expect_problem("F:2: [random_slow] has no 'workers'", "[random_slow]\nfactor = 2");
  expect_problem("F:2: [[link]] changes nothing", "[[link]]\nworker = 1");
  expect_problem("F:2: [[cut]] must name one connection", "[[cut]]\ntime = '1s'");
  expect_problem("F:2: [[path]] must join two racks or two workers", "[[path]]\nlatency = '1s'");
  expect_problem("F:2: [[death]] must say when", "[[death]]\nworker = 1");
}

TEST(ClusterFileProblems, AreKeysThatContradictOneAnother) {
  expect_problem("F:4: 'oversubscription' in [network] says the same as 'uplink'",
                 "[network]\nuplink = '1Gbps'\noversubscription = 4\nnic = '1Gbps'");
  expect_problem("F:3: 'oversubscription' in [network] needs 'nic'",
                 "[network]\noversubscription = 4");
  expect_problem("F:3: 'oversubscription' in [network] is 0;",
                 "[network]\noversubscription = 0\nnic = '1Gbps'");
  expect_problem("F:1: 'workers' in the top level is one rack of all",
                 "[racks]\ncount = 2\nworkers = 2");
  expect_problem("F:2: [[cut]] must name one", "[[cut]]\nworker = 1\nrack = 1\ntime = '1s'");
  expect_problem("F:3: 'workers' in [[varying]] names all",
                 "[[varying]]\nworkers = 'all'\nworker = 1\nlowest = 0.5");
  expect_problem("F:2: [[death]] must say when", "[[death]]\nworker = 1\nstep = 3\ntime = '1s'");
  expect_problem("F:4: 'after_operations' in [[death]] goes with 'step'",
                 "[[death]]\nworker = 1\nafter_operations = 3\ntime = '1s'");
}

TEST(ClusterFileProblems, AreNumbersOfWorkersThatCannotBe) {
  EXPECT_EQ(problems("name = 'x'\n"),
            Lines{"F: this cluster has no workers; write workers = 8 at the top, or [racks]."});
  EXPECT_EQ(problems("\nworkers = 0\n"),
            Lines{"F:2: the number of workers is 0; it must be at least 1."});
  EXPECT_EQ(problems("[racks]\ncount = 0\nworkers = 4").size(), 1u);
  EXPECT_EQ(problems("[racks]\ncount = 100000\nworkers = 100000").size(), 1u);
  EXPECT_EQ(problems("racks = 5").size(), 1u);
}

TEST(ClusterFileProblems, OfTheClusterHaveTheLineOfTheirTable) {
  expect_problem("F:2: the amplitude of the wander is 1.5", "[compute]\nwander = 1.5");
  expect_problem("F:6: a halt names worker 7",
                 "[[halt]]\nworker = 1\ntime = '1s'\nfor = '1s'\n"
                 "[[halt]]\nworker = 7\ntime = '1s'\nfor = '1s'");
  expect_problem("F:2: there is a pause, but the compute time per step is 0",
                 "[[pause]]\nprobability = 0.1\ntime = '1s'");
  expect_problem("F:5: background traffic that does not give way takes",
                 "[network]\nnic = '1Gbps'\n\n"
                 "[[background]]\nworker = 1\ndirection = 'out'\nrate = '2Gbps'");
}

TEST(ClusterFileProblems, OfATableForAllWorkersAreSaidOnce) {
  expect_problem(
      "F:2: the variation of worker 0 is on the connection of worker 0, whose bandwidth "
      "is unlimited",
      "[[varying]]\nworkers = 'all'\nlowest = 0.5");
}

TEST(ClusterFileProblems, DoNotMakeFurtherOnes) {
  expect_problem("F:3: 'step' in [compute] is 35 without a unit",
                 "[compute]\nstep = 35\n[[pause]]\nprobability = 0.1\ntime = '1s'");
  expect_problem("F:3: 'nic' in [network] is 10 without a unit",
                 "[network]\nnic = 10\n[[background]]\nworker = 1\nrate = '2Gbps'");
  expect_problem("F:4: 'bandwidth' in [[link]] is 10 without a unit",
                 "[[link]]\nworker = 1\nbandwidth = 10\n"
                 "[[background]]\nworker = 1\nrate = '2Gbps'");
  EXPECT_EQ(problems("workers = -4\n[[slow]]\nworker = 2\nfactor = 2").size(), 1u);
}

TEST(ClusterFile, ReadsEveryClusterThatComesWithHuddle) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("clusters")) {
    SCOPED_TRACE(entry.path().string());
    const Cluster cluster = read_cluster_file(entry.path());
    EXPECT_GE(cluster.workers, 8);
    EXPECT_LT(cluster.nic_bytes_per_second, kUnlimited);
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
  EXPECT_EQ(cluster.uplink_bytes_per_second, 1.25e9);
  EXPECT_EQ(cluster.deaths.size(), 1u);
}

TEST(ClusterFile, ReadsWhatTheExamplesSay) {
  const Cluster racks = read_cluster_file("clusters/oversubscribed_racks.toml");
  EXPECT_EQ(racks.workers, 16);
  EXPECT_EQ(racks.racks(), 4);
  EXPECT_EQ(racks.uplink_bytes_per_second, 1.25e9);
  const Cluster wan = read_cluster_file("clusters/wan_sites.toml");
  EXPECT_EQ(wan.racks(), 3);
  EXPECT_EQ(wan.paths.size(), 3u);
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
