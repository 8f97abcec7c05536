#include "huddle/compare/scenario/scenario_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

class ScenarioFile : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { scratch_.write(name, text); }

  Scenario read(const std::string& text) {
    write("test.toml", text);
    const ScenarioRules rules{
        .workload_keys = {"data", "steps", "epochs", "evaluate_every", "lr", "split", "nesterov",
                          "timing_only"},
        .check_workload =
            [](const WorkloadOptions& workload) {
              if (workload.contains("steps") && workload.at("steps") == "0")
                throw UsageError("--steps is 0; it must be at least 1.");
              if (workload.contains("evaluate_every") && !workload.contains("lr"))
                throw UsageError("--evaluate-every needs --lr.");
            },
        .check_spelling =
            [](const std::string& strategy) {
              if (strategy.starts_with("bps")) throw UsageError("unknown strategy 'bps'");
            },
        .check_run =
            [](const ScenarioCase&, const WorkloadOptions&, const std::string& strategy) {
              if (strategy == "bsp:algorithm=pair") throw UsageError("a pair has two members");
            }};
    return read_scenario(folder_ / "test.toml", rules);
  }

  // All problems, without the folder.
  std::string problems(const std::string& text) {
    try {
      read(text);
    } catch (const UsageError& error) {
      std::string all = error.what();
      const std::string place = (folder_ / "").string();
      for (auto at = all.find(place); at != std::string::npos; at = all.find(place))
        all.erase(at, place.size());
      return all;
    }
    return "";
  }

  const ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

const std::string kSmall = R"(
[cluster]
workers = 8
network.nic = "10Gbps"
network.latency = "0.1ms"
[[strategy]]
run = "bsp"
)";

TEST_F(ScenarioFile, TheSmallestIsOneCaseWithOneSeed) {
  const Scenario scenario = read(kSmall);
  EXPECT_EQ(scenario.name, "test");
  EXPECT_EQ(scenario.title, "test");
  ASSERT_EQ(scenario.cases.size(), 1u);
  EXPECT_EQ(scenario.cases[0].seeds, std::vector{1});
  EXPECT_EQ(scenario.cases[0].cluster.workers, 8);
  EXPECT_EQ(scenario.cases[0].cluster.topology.latency_in_rack, 1e-4);
  ASSERT_EQ(scenario.strategies.size(), 1u);
  EXPECT_EQ(scenario.strategies[0].label, "bsp");
  EXPECT_EQ(scenario.source, kSmall);
  EXPECT_FALSE(scenario.target);
}

TEST_F(ScenarioFile, ReadsWords) {
  const Scenario scenario = read(R"(
title = "Latency"
text = "Why"
claim = "1.7x"
assumptions = ["one", "two"]
[workload]
data = "digits"
steps = 200
lr = 0.03
nesterov = true
seeds = [3, 4]
[target]
accuracy = 0.95
)" + kSmall);
  EXPECT_EQ(scenario.title, "Latency");
  EXPECT_EQ(scenario.assumptions.size(), 2u);
  EXPECT_EQ(scenario.target->value, 0.95);
  EXPECT_EQ(scenario.cases[0].seeds, (std::vector{3, 4}));
  const WorkloadOptions expected{
      {"data", "digits"}, {"lr", "0.03"}, {"nesterov", "true"}, {"steps", "200"}};
  EXPECT_EQ(scenario.cases[0].workload, expected);
}

TEST_F(ScenarioFile, CasesLayTheirOwnOverTheCommon) {
  const Scenario scenario = read(R"(
[workload]
split = "iid"
[[case]]
name = "far"
cluster.network.latency = "5ms"
[[case]]
name = "skewed"
text = "uneven data"
seeds = [9]
workload.split = "skew:0.64"
[[case]]
name = "racks"
[case.cluster.racks]
count = 2
workers = 4
[[case.cluster.slow]]
worker = 7
factor = 2.0
)" + kSmall);
  ASSERT_EQ(scenario.cases.size(), 3u);
  EXPECT_EQ(scenario.cases[0].cluster.topology.latency_in_rack, 5e-3);
  EXPECT_EQ(scenario.cases[0].cluster.topology.nic_bytes_per_second, 1.25e9);
  EXPECT_EQ(scenario.cases[1].workload.at("split"), "skew:0.64");
  EXPECT_EQ(scenario.cases[1].seeds, std::vector{9});
  EXPECT_EQ(scenario.cases[2].cluster.topology.equal_rack_size(), 4)
      << "racks take the place of workers";
  EXPECT_EQ(scenario.cases[2].cluster.slowdowns.size(), 1u);
  EXPECT_EQ(scenario.cases[2].workload.at("split"), "iid");
}

TEST_F(ScenarioFile, SweepsMakeACaseAndAStrategyForEachValue) {
  const Scenario scenario = read(R"(
[[case]]
name = "{latency}"
text = "with {step} of computing"
sweep.cluster.network.latency = ["0.1ms", "5ms"]
sweep.cluster.compute.step = ["10ms", "20ms"]
[[strategy]]
run = "local_sgd:slots=keep"
label = "every {tau}"
sweep = { tau = [1, 8] }
[[strategy]]
run = "sesgd"
sweep.workload.lr = [0.1, 0.2]
[[strategy]]
run = "diloco"
sweep.tau = [8]
)" + kSmall);
  ASSERT_EQ(scenario.cases.size(), 4u);
  EXPECT_EQ(scenario.cases[0].name, "0.1ms, step=10ms");
  EXPECT_EQ(scenario.cases[0].text, "with 10ms of computing");
  EXPECT_EQ(scenario.cases[3].cluster.topology.latency_in_rack, 5e-3);
  EXPECT_EQ(scenario.cases[3].cluster.compute_per_step, 0.02);
  std::vector<std::string> labels;
  for (const ScenarioStrategy& strategy : scenario.strategies) labels.push_back(strategy.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"every 1", "every 8", "sesgd, lr=0.1",
                                              "sesgd, lr=0.2", "diloco:tau=8", "bsp"}));
  EXPECT_EQ(scenario.strategies[1].run, "local_sgd:slots=keep,tau=8");
  EXPECT_EQ(scenario.strategies[3].workload.at("lr"), "0.2");
}

TEST_F(ScenarioFile, AStrategyMayBeKeptToSomeCases) {
  const Scenario scenario = read(R"(
[[case]]
name = "map"
sweep.cluster.network.latency = ["1ms", "5ms"]
[[case]]
name = "plain"
[[strategy]]
run = "sesgd"
cases = ["map"]
baseline = ["paper", "best"]
)" + kSmall);
  EXPECT_EQ(scenario.strategies[0].cases,
            (std::vector<std::string>{"map, latency=1ms", "map, latency=5ms"}));
  EXPECT_EQ(scenario.strategies[0].baselines, (std::vector<std::string>{"paper", "best"}));
  EXPECT_EQ(scenario.strategies[1].cases.size(), 3u);
}

TEST_F(ScenarioFile, AClusterMayComeFromAFile) {
  write("lan.toml", "workers = 16\n[network]\nnic = \"1Gbps\"\n");
  const Scenario scenario = read(R"(
[cluster]
file = "lan.toml"
network.latency = "1ms"
[[case]]
name = "as it is"
[[case]]
name = "wide"
cluster.network.nic = "40Gbps"
[[strategy]]
run = "bsp"
)");
  EXPECT_EQ(scenario.cases[0].cluster.workers, 16);
  EXPECT_EQ(scenario.cases[0].cluster.topology.latency_in_rack, 1e-3);
  EXPECT_EQ(scenario.cases[1].cluster.topology.nic_bytes_per_second, 5e9);
  EXPECT_EQ(find_entry(scenario.cases[0].description, "file"), nullptr);
}

TEST_F(ScenarioFile, TellsAllProblemsAtOnceWithTheirLines) {
  EXPECT_EQ(problems(R"(titel = "x"
[workload]
stepps = 3
seeds = []
[target]
accuracy = 95
[cluster]
workers = 8
[cluster.network]
latencey = "1ms"
nic = 10
[[case]]
name = "a"
cluster.slow = [{worker = 9, factor = 2.0}]
[[case]]
name = "a"
workload.lrr = 1
[[strategy]]
run = "bsp"
basline = "x"
cases = ["b"]
[[strategy]]
label = "no run"
)"),
            R"(test.toml:1: unknown key 'titel' in the top level; did you mean 'title'?
test.toml:3: unknown key 'stepps' in [workload]; did you mean 'steps'?
test.toml:4: 'seeds' in [workload] must name at least one, and none twice: [1, 2, 3].
test.toml:6: 'accuracy' in [target] is a share of all samples, between 0 and 1: 0.95.
test.toml:10: unknown key 'latencey' in [cluster.network]; did you mean 'latency'?
test.toml:11: 'nic' in [cluster.network] is 10 without a unit; write for example "10Gbps".
test.toml:14: a slowdown names worker 9, but the workers are 0 to 7.
test.toml:15: a second case is called 'a'; names must differ.
test.toml:17: unknown key 'lrr' in [[case]] workload; did you mean 'lr'?
test.toml:20: unknown key 'basline' in [[strategy]]; did you mean 'baseline'?
test.toml:21: 'cases' in [[strategy]] has an unknown case 'b'; did you mean 'a'? Known: a.
test.toml:22: [[strategy]] has no 'run', which it needs.)");
}

TEST_F(ScenarioFile, AsksForWhatIsMissing) {
  EXPECT_EQ(
      problems("title = \"x\"\n"),
      "test.toml: no cluster; write [cluster] with workers = 8, or with file = "
      "\"lan.toml\".\ntest.toml: no strategies to compare; write one [[strategy]] for each, run "
      "= \"bsp\".");
}

TEST_F(ScenarioFile, NamesMistakesOfAllKindsAtOnce) {
  EXPECT_EQ(
      problems("[workload]\nsteps = 0\nstepz = 3\n[cluster]\nworkers = 8\ncompute.step = \"1s\"\n"
               "[[strategy]]\nrun = \"bps\"\n"),
      "test.toml:2: --steps is 0; it must be at least 1.\n"
      "test.toml:3: unknown key 'stepz' in [workload]; did you mean 'steps'?\n"
      "test.toml:8: unknown strategy 'bps'");
  EXPECT_NE(problems("[cluster]\nworkers = 8\n[[strategy]]\nrun = \"bsp\"\n").find("takes time"),
            std::string::npos);
}

TEST_F(ScenarioFile, RefusesRunsThatCannotBegin) {
  EXPECT_EQ(problems(kSmall + "[[strategy]]\nrun = \"bps\"\n[[strategy]]\nrun = \"bsp\"\n"),
            "test.toml:9: unknown strategy 'bps'\n"
            "test.toml:10: a second strategy is called 'bsp'; give it another label.");
  EXPECT_NE(problems(kSmall + "[[strategy]]\nrun = \"bsp:x\"\n").find("test.toml:9:"),
            std::string::npos);
}

TEST_F(ScenarioFile, AWorkloadIsCheckedWhereItIsWritten) {
  EXPECT_EQ(problems("[workload]\ndata = \"digits\"\nsteps = 0\n[[case]]\nname = \"a\"\n"
                     "workload.lr = 1\n" +
                     kSmall),
            "test.toml:3: --steps is 0; it must be at least 1.");
  EXPECT_EQ(problems("[[case]]\nname = \"a\"\nworkload.steps = 0\n" + kSmall),
            "test.toml:3: --steps is 0; it must be at least 1.");
  EXPECT_EQ(problems(kSmall + "workload.steps = 0\n"),
            "test.toml:8: --steps is 0; it must be at least 1.");
  EXPECT_EQ(problems("[[case]]\nname = \"a\"\nsweep.workload.steps = [1, 0]\n" + kSmall),
            "test.toml:3: --steps is 0; it must be at least 1.");
}

TEST_F(ScenarioFile, OptionsMayNeedOneAnother) {
  const std::string every = "[workload]\nevaluate_every = 1\n";
  EXPECT_EQ(read(every + "lr = 9\n" + kSmall).cases[0].workload.size(), 2u);
  EXPECT_EQ(problems(every + kSmall), "test.toml:2: --evaluate-every needs --lr.");
}

TEST_F(ScenarioFile, AMistakeHidesNoOther) {
  EXPECT_EQ(problems("[[case]]\nname = \"a\"\nworkload.steps = 0\n[[case]]\nname = \"b\"\n"
                     "workload = { evaluate_every = 1, steps = 0 }\n" +
                     kSmall + "[[strategy]]\nrun = \"bps\"\n"),
            "test.toml:3: --steps is 0; it must be at least 1.\n"
            "test.toml:6: --evaluate-every needs --lr.\n"
            "test.toml:6: --steps is 0; it must be at least 1.\n"
            "test.toml:15: unknown strategy 'bps'");
}

TEST_F(ScenarioFile, ATargetNeedsModelsToJudge) {
  const std::string target = "[target]\naccuracy = 0.9\n";
  EXPECT_NE(problems(target + "[workload]\nepochs = 2\n" + kSmall).find("evaluate_every"),
            std::string::npos);
  EXPECT_EQ(problems(target + "[workload]\nlr = 1\nepochs = 2\nevaluate_every = 5\n" + kSmall), "");
}

TEST_F(ScenarioFile, AnExpectationMayHoldInSomeOfItsCases) {
  const std::string expect = "[[case]]\nname = \"near\"\n[[case]]\nname = \"far\"\n" + kSmall +
                             "[[expect]]\nstrategies = [\"bsp\"]\nover = \"bsp\"\nspeedup = 1\n";
  EXPECT_EQ(read(expect).expectations[0].in, 0);
  EXPECT_EQ(read(expect + "in = 1\n").expectations[0].in, 1);
  for (const char* in : {"in = 0\n", "in = 3\n"})
    EXPECT_NE(problems(expect + in).find("from 1 to 2"), std::string::npos) << in;
}

TEST_F(ScenarioFile, ATargetMayBeSoFarBelowABaseline) {
  const std::string target = "[target]\nbaseline = \"bsp\"\npoints_below = 0.3\n";
  const Scenario scenario = read(target + kSmall);
  EXPECT_EQ(scenario.target->baseline, "bsp");
  EXPECT_DOUBLE_EQ(scenario.target->below, 0.003);
  EXPECT_EQ(problems(target + kSmall + "baseline = \"ring\"\n"),
            "test.toml:2: 'baseline' in [target] has an unknown baseline 'bsp'. Known: ring.");
  EXPECT_NE(
      problems("[target]\naccuracy = 0.9\npoints_below = 1\n" + kSmall).find("needs a baseline"),
      std::string::npos);
  EXPECT_NE(problems("[target]\naccuracy = 0.9\nloss = 1\n" + kSmall).find("must name one figure"),
            std::string::npos);
}

TEST_F(ScenarioFile, ATargetNeedsTheSameModelOfAllStrategies) {
  const std::string target = "[target]\naccuracy = 0.9\n";
  for (const char* own : {"workload.data = \"digits\"\n",
                          "sweep = { \"workload.data\" = [\"digits\", \"mnist\"] }\n"}) {
    const std::string strategy = std::string("[[strategy]]\nrun = \"sesgd\"\n") + own;
    EXPECT_EQ(problems(kSmall + strategy), "");
    EXPECT_NE(problems(target + kSmall + strategy).find("a [[case]] of its own"), std::string::npos)
        << own;
  }
}

TEST_F(ScenarioFile, RatesAreTunedForEveryStrategyThatHasNoneOfItsOwn) {
  const Scenario scenario = read("[tune]\nlr = [0.05, 0.1]\n" + kSmall +
                                 "[[strategy]]\nrun = \"sesgd\"\ntune.lr = [1, 2]\n" +
                                 "[[strategy]]\nrun = \"ds_sync\"\nworkload.lr = 0.3\n");
  EXPECT_EQ(scenario.strategies[0].rates, (std::vector<std::string>{"0.05", "0.1"}));
  EXPECT_EQ(scenario.strategies[1].rates, (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(scenario.strategies[2].rates.empty());
}

TEST_F(ScenarioFile, RefusesTuningThatChoosesNothing) {
  for (const char* wrong :
       {"[tune]\nlr = [0.1]\n", "[tune]\nlr = [0.1, 0.1]\n", "[tune]\nlr = 0.1\n", "[tune]\n",
        "[tune]\nlr = [1, 2]\nmomentum = [1]\n"})
    EXPECT_NE(problems(wrong + kSmall), "") << wrong;
  EXPECT_NE(
      problems("[workload]\nlr = 0.1\n[tune]\nlr = [0.1, 0.2]\n" + kSmall).find("leave out one"),
      std::string::npos);
}

TEST_F(ScenarioFile, RefusesSweepsThatMeanNothing) {
  const std::string told = problems(R"(
[[case]]
name = "a"
sweep.network.latency = ["1ms"]
[[case]]
name = "b"
sweep.workload.lrr = [1]
)" + kSmall + "sweep.tau = 3\n");
  for (const char* part : {"test.toml:4:", "must begin with cluster. or workload.",
                           "test.toml:7:", "did you mean 'lr'", "gives 'tau' as 3"})
    EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << told;
}

TEST_F(ScenarioFile, RefusesPlacesThatNoSweptKeyFills) {
  const std::string told = problems(R"(
[[case]]
name = "at {latncy}"
sweep.cluster.network.latency = ["1ms", "5ms"]
)" + kSmall + "label = \"every {steps}\"\nsweep.tau = [1, 2]\n");
  for (const char* part : {"test.toml:3:", "'latncy'", "did you mean 'latency'", "'steps'", "tau"})
    EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << told;
  EXPECT_EQ(read(kSmall + "label = \"{any}\"\n").strategies[0].label, "{any}");
}

TEST_F(ScenarioFile, AWrongClusterFileIsToldWithItsOwnLines) {
  write("lan.toml", "workers = 16\nnetwrk = 3\n");
  const std::string told =
      problems("[cluster]\nfile = \"lan.toml\"\n[[strategy]]\nrun = \"bsp\"\n");
  EXPECT_NE(told.find("lan.toml:2: unknown key 'netwrk'"), std::string::npos) << told;
  EXPECT_NE(problems("[cluster]\nfile = \"lam.toml\"\n[[strategy]]\nrun = \"bsp\"\n")
                .find("test.toml:2: cannot read 'lam.toml': there is no such file"),
            std::string::npos);
}

}  // namespace
}  // namespace huddle
