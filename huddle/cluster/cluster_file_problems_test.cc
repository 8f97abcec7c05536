// What a cluster file is refused with, and with which lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/cluster/cluster_file.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Lines = std::vector<std::string>;

// What the file is refused with, line by line, its path replaced by "F".
Lines problems(const std::string& text) {
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.write("cluster.toml", text);
  std::string message;
  try {
    read_cluster_file(file);
  } catch (const UsageError& error) {
    message = error.what();
  }
  Lines lines;
  std::istringstream stream(message);
  for (std::string line; std::getline(stream, line);) {
    const std::string path = file.string();
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

TEST(ClusterFileProblems, AreListedAllAtOnceInTheOrderOfLines) {
  EXPECT_EQ(
      problems(R"(workers = 4
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
      (Lines{"F:2: unknown key 'color' in the top level; known: workers, name, workers_per_host.",
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
      EXPECT_EQ(std::string(error.what()).find("cannot read '" + path.string() + "': "), 0u);
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
  expect_problem("F:3: 'wire' in [model] is 0; write at least \"1kB\"", "[model]\nwire = '0B'");
  expect_problem("F:2: the size of the model on the wire is 1e+21 bytes; it must be from 1000",
                 "[model]\nwire = '1e12GB'");
  expect_problem(
      "F:3: 'step' in [compute]: '1e300s' is too long; a time is from 0 s to 1e+09 s, for example "
      "0.1ms.",
      "[compute]\nstep = '1e300s'");
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
  for (const char* hosts : {"0", "2"})
    EXPECT_EQ(
        problems(std::string("workers_per_host = ") + hosts + "\nracks = {sizes = [4, 3]}").size(),
        1u);
  EXPECT_EQ(problems("[racks]\nsizes = [4, 0]").size(), 1u);
  EXPECT_EQ(problems("[racks]\nsizes = []").size(), 1u);
  EXPECT_EQ(
      problems("[racks]\nsizes = [2, 2]\ncount = 2"),
      Lines{"F:2: 'sizes' in [racks] says the same as 'count' and 'workers'; leave them out."});
  EXPECT_EQ(problems("network = {nic = '1Gbps', oversubscription = 4}\nracks = {sizes = [4, 2]}"),
            Lines{"F:1: 'oversubscription' in [network] needs racks of equal size; write 'uplink' "
                  "instead."});
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

}  // namespace
}  // namespace huddle
