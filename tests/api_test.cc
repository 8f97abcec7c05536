// Huddle in a program of one's own: runs, records and comparisons of a body with its own model and
// loop.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "huddle/huddle.h"
#include "huddle/report/page/html_report.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Json = nlohmann::json;
using Path = std::filesystem::path;

constexpr int kSteps = 12;
constexpr double kWire = 8000;  // In kCluster, as bytes.
constexpr const char* kCluster = R"(
name = "four machines"
workers = 4
[network]
nic = "8Mbps"
latency = "1ms"
[compute]
step = "10ms"
[model]
wire = "8kB"
)";

std::string text_of(const Path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Learns the sum of four numbers. What it checks is seen in children, too: they fail. `loss_at`:
// what the records are told, step by step.
void learn(
    Worker& worker, const std::string& strategy,
    const std::function<std::optional<double>(std::int64_t step, double loss)>& loss_at =
        [](std::int64_t, double loss) { return loss; }) {
  torch::nn::Linear model(4, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.02);
  Sync sync = worker.attach(*model, optimizer, strategy, {.steps = kSteps});
  const auto loss_on = [&](double first) {
    const at::Tensor numbers = at::arange(32, at::kFloat).reshape({8, 4}).add(first).sin();
    return (model(numbers) - numbers.sum(1, true)).square().mean();
  };
  while (!sync.is_over()) {
    const std::int64_t step = sync.next_step().value;
    sync.begin_step();
    const at::Tensor loss = loss_on(static_cast<double>(100 * worker.id() + step));
    loss.backward();
    sync.step(loss_at(step, loss.item<double>()));
  }
  sync.finish();
  const at::Tensor before = model->weight.detach().clone();
  worker.evaluate(sync,
                  [&] { return Quality{.loss = loss_on(7).item<double>(), .accuracy = 0.5}; });
  check(before.equal(model->weight), "evaluation leaves the model as it was");
}

TEST(Run, TellsAndWritesDownWhatAUsersOwnLoopCameTo) {
  const ScratchFolder folder;
  const Path out = folder.path() / "run";
  const Summary summary =
      run(threads(3), [](Worker& worker) { learn(worker, "bsp:buckets=2"); },
          {.out = out, .timeline = true, .evaluate_every = 5, .data = "sums", .batch = 8});
  EXPECT_EQ(summary.status, "complete");
  EXPECT_EQ(summary.strategy, "bsp:buckets=2");
  EXPECT_EQ(summary.model, "torch::nn::LinearImpl");
  EXPECT_EQ(summary.optimizer, "sgd");
  EXPECT_EQ(summary.parameters, 5);
  EXPECT_EQ(summary.batch, 8);
  EXPECT_EQ(summary.steps_by_worker, std::vector<std::int64_t>(3, kSteps));
  ASSERT_TRUE(summary.consensus);
  EXPECT_EQ(summary.consensus->accuracy, 0.5);
  EXPECT_EQ(summary.drift, 0);
  ASSERT_EQ(summary.curve.size(), 3u) << "after 5, 10 and 12 steps";
  EXPECT_GT(summary.curve.front().consensus.loss, summary.curve.back().consensus.loss);
  EXPECT_EQ(summary.curve.back().consensus.loss, summary.consensus->loss);

  const std::string steps = text_of(out / "steps.jsonl");
  EXPECT_EQ(std::count(steps.begin(), steps.end(), '\n'), 3 * kSteps);
  EXPECT_EQ(Json::parse(text_of(out / "summary.json"))["data"], "sums");
  EXPECT_FALSE(Json::parse(text_of(out / "timeline.json"))["traceEvents"].empty());
  EXPECT_EQ(is_own(out / "report.html", OwnFile::report), can_write_report());
}

// Steps of a small model with BatchNorm, or without, up to number `until`; they go on from `state`
// where that holds anything, and leave their own there.
void take_steps(Worker& worker, const std::string& strategy, torch::nn::Sequential model, int until,
                std::map<std::string, at::Tensor>& state) {
  torch::optim::SGD optimizer(model->parameters(), 0.02);
  Sync sync = worker.attach(*model, optimizer, strategy, {.steps = kSteps});
  if (!state.empty()) sync.load(state);
  while (sync.next_step().value < until) {
    sync.begin_step();
    model->forward(at::arange(8, at::kFloat).reshape({2, 4})).sum().backward();
    sync.step();
  }
  state = sync.save();
  sync.finish();
  worker.evaluate(sync, [&] { return Quality{.loss = worker.id() + 1.}; });
}

TEST(Run, CountsFromWhereAStateThatIsLoadedLeftOff) {
  std::map<std::string, at::Tensor> state;
  const auto until = [&](int step) {
    return run(threads(1),
               [&](Worker& worker) {
                 take_steps(worker, "bsp", torch::nn::Sequential(torch::nn::Linear(4, 1)), step,
                            state);
               },
               {.evaluate_every = 4, .batch = 2});
  };
  until(5);
  const Summary summary = until(kSteps);
  EXPECT_EQ(summary.steps_done, kSteps);
  EXPECT_EQ(summary.steps_by_worker, std::vector<std::int64_t>{kSteps - 5});
  EXPECT_NEAR(summary.samples_per_second * summary.seconds, 2 * (kSteps - 5), 1e-6);
  ASSERT_EQ(summary.curve.size(), 2u) << "after 8 and 12 steps";
  EXPECT_EQ(summary.curve.front().progress, 8);
}

TEST(Run, JudgesTheFurtherModelsOfAStrategy) {
  const auto others = [](torch::nn::Sequential (*make)()) {
    return run(threads(2),
               [&](Worker& worker) {
                 std::map<std::string, at::Tensor> state;
                 take_steps(worker, "overlap_local_sgd:tau=2", make(), kSteps, state);
               })
        .others;
  };
  const auto plain = others([] { return torch::nn::Sequential(torch::nn::Linear(4, 1)); });
  ASSERT_TRUE(plain.contains("anchor"));
  EXPECT_EQ(plain.at("anchor").loss, 1) << "as worker 0 judges";
  EXPECT_TRUE(others([] {
                return torch::nn::Sequential(torch::nn::Linear(4, 2), torch::nn::BatchNorm1d(2));
              }).empty())
      << "no statistics are the anchor's";
}

TEST(Run, WarnsOfStatisticsThatAreNotThoseOfTheMeanModel) {
  for (const std::string policy : {"keep", "recompute", "average"}) {
    const Summary summary = run(threads(2), [&](Worker& worker) {
      std::map<std::string, at::Tensor> state;
      take_steps(worker, "local_sgd:tau=2,statistics=" + policy,
                 torch::nn::Sequential(torch::nn::Linear(4, 2), torch::nn::BatchNorm1d(2)), 4,
                 state);
    });
    ASSERT_EQ(summary.warnings.size(), policy == "average" ? 0u : 1u) << policy;
    if (policy != "average") {
      EXPECT_NE(summary.warnings.front().find("statistics=" + policy), std::string::npos);
    }
  }
}

TEST(Run, SimulatesTheClusterOfAFileWithTheModelInItsSizeOnTheWire) {
  const ScratchFolder folder;
  const Engine engine = simulate(folder.write("cluster.toml", kCluster));
  const Summary summary =
      run(engine, [](Worker& worker) { learn(worker, "bsp:algorithm=ring,buckets=1"); });
  EXPECT_EQ(summary.cluster, "four machines");
  EXPECT_EQ(summary.network, "alpha_beta");
  const double sent = 2. * 3 / 4 * kWire;  // By a worker, in a ring of four.
  // The five parameters of the model do not divide evenly by four workers.
  EXPECT_NEAR(summary.bytes_sent_per_worker, kSteps * sent, 0.01 * kSteps * sent);
  const Seconds step = 0.010 + 6 * (0.001 + 2. / 5 * kWire / 1e6);
  EXPECT_NEAR(summary.seconds, kSteps * step, 0.01 * kSteps * step);
  EXPECT_FALSE(summary.links.empty());
}

TEST(Run, SimulatesOnceInAProcessAndSaysSo) {
  const ScratchFolder folder;
  const Engine engine = simulate(folder.write("cluster.toml", kCluster));
  const auto body = [](Worker& worker) { learn(worker, "bsp"); };
  run(engine, body);
  for (const auto& again : std::vector<std::function<void()>>{
           [&] { run(engine, body, {.out = folder.path() / "again"}); },
           [&] {
             compare(engine, {"bsp"}, [&](Worker& worker, auto&) { body(worker); },
                     {.out = folder.path() / "all"});
           }})
    EXPECT_NE(refusal(again).find("in a process of its own"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "again"));
}

TEST(Run, RefusesAClusterFileByFileLineAndKey) {
  const ScratchFolder folder;
  const Path file = folder.write("bad.toml", "workers = 4\n[network]\nbandwith = \"1Gbps\"\n");
  for (const auto& open :
       {+[](const Path& path) { simulate(path); }, +[](const Path& path) { threads(path); }}) {
    const std::string message = refusal([&] { open(file); });
    EXPECT_NE(message.find("bad.toml:3"), std::string::npos) << message;
    EXPECT_NE(message.find("bandwith"), std::string::npos) << message;
    EXPECT_NE(refusal([&] { open(folder.path() / "none.toml"); }).find("none.toml"),
              std::string::npos);
  }
  EXPECT_THROW(threads(0), UsageError);
}

TEST(Run, ReplacesAnEarlierRunOnlyWhenTold) {
  const ScratchFolder folder;
  const auto once = [&](Older older) {
    return run(threads(1), [](Worker& worker) { learn(worker, "bsp"); },
               {.out = folder.path(), .older = older});
  };
  once(Older::refuse);
  EXPECT_NE(refusal([&] { once(Older::refuse); }).find(".older = Older::replace"),
            std::string::npos);
  once(Older::replace);
  folder.write("summary.json", "mine");
  EXPECT_THROW(once(Older::replace), UsageError);
  EXPECT_EQ(text_of(folder.path() / "summary.json"), "mine");
}

TEST(Run, KeepsTheRecordsOfABodyThatThrows) {
  const ScratchFolder folder;
  const auto body = [](Worker& worker) {
    learn(worker, "bsp", [&](std::int64_t step, double loss) {
      if (worker.id() == 1 && step == 3) throw std::runtime_error("the data is gone");
      return loss;
    });
  };
  EXPECT_THROW(run(threads(2), body, {.out = folder.path()}), std::runtime_error);
  const Json summary = Json::parse(text_of(folder.path() / "summary.json"));
  EXPECT_EQ(summary["status"], "failed: the data is gone");
  EXPECT_GE(summary["steps_taken"], 6);
}

TEST(Run, LeavesTheProgramItsNumberOfThreads) {
  at::set_num_threads(3);
  run(threads(2), [](Worker& worker) {
    EXPECT_EQ(at::get_num_threads(), 1);
    learn(worker, "bsp");
  });
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST(Run, SaysThatLossesAreNotFinite) {
  const auto body = [](Worker& worker) {
    learn(worker, "bsp", [](std::int64_t step, double loss) {
      return step > 5 ? std::numeric_limits<double>::quiet_NaN() : loss;
    });
  };
  EXPECT_EQ(run(threads(2), body).status, "diverged");
}

TEST(Run, CountsTheLossesThatAreTold) {
  const Summary summary = run(threads(3), [](Worker& worker) {
    learn(worker, "bsp", [&](std::int64_t step, double) {
      const bool tells = worker.id() == 1 && step % 5 == 0;
      return tells ? std::optional(0.25) : std::nullopt;
    });
  });
  EXPECT_EQ(summary.status, "complete");
  EXPECT_EQ(summary.loss, 0.25);
  const Summary diverged = run(threads(2), [](Worker& worker) {
    learn(worker, "bsp", [&](std::int64_t, double) {
      return worker.id() == 1 ? std::optional(std::numeric_limits<double>::infinity())
                              : std::nullopt;
    });
  });
  EXPECT_EQ(diverged.status, "diverged");
}

TEST(Run, EvaluatesTheModelThatItRecordsAlone) {
  const std::string said = refusal([] {
    run(threads(2), [](Worker& worker) {
      torch::nn::Linear first(4, 1);
      torch::nn::Linear second(3, 1);
      torch::optim::SGD of_first(first->parameters(), 0.02);
      torch::optim::SGD of_second(second->parameters(), 0.02);
      Sync recorded = worker.attach(*first, of_first, "bsp");
      Sync other = worker.attach(*second, of_second, "bsp");
      worker.evaluate(other, [] { return Quality{}; });
    });
  });
  EXPECT_NE(said.find("attached first"), std::string::npos) << said;
}

TEST(Compare, SetsStrategiesOfEveryPaceSideBySideOnAUsersOwnModel) {
  const ScratchFolder folder;
  const Path out = folder.path() / "all";
  const Engine engine = simulate(folder.write("cluster.toml", kCluster));
  const std::vector<std::string> strategies{"bsp", "local_sgd:tau=4", "p_reduce:group=2"};
  const Comparison all = compare(engine, strategies,
                                 [](Worker& worker, const Trial& trial) {
                                   check(trial.seed == 3 || trial.seed == 5, "the seed of a trial");
                                   learn(worker, trial.strategy);
                                 },
                                 {.out = out, .seeds = {3, 5}, .evaluate_every = 6});
  ASSERT_EQ(all.table.size(), 3u);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    EXPECT_EQ(all.table[i].label, strategies[i]);
    EXPECT_EQ(all.table[i].status, "complete");
    EXPECT_EQ(all.table[i].seeds, 2);
    EXPECT_EQ(all.table[i].case_name, "four machines");
    EXPECT_TRUE(all.table[i].accuracy_consensus);
  }
  EXPECT_GT(all.table[1].speedups.front().of_step.value.value_or(0), 1) << "it sends a quarter";
  EXPECT_NE(comparison_text(all).find("local_sgd:tau=4"), std::string::npos);
  EXPECT_EQ(Json::parse(text_of(out / "results.json"))["runs"].size(), 6u);
  EXPECT_EQ(is_own(out / "report.html", OwnFile::report), can_write_report());
  EXPECT_NE(refusal([&] {
              compare(engine, strategies, [](auto&&...) {}, {.out = out});
            }).find(".older = Older::replace"),
            std::string::npos);
}

TEST(Compare, FollowsAProgramThatHasComputedWithThreads) {
  const ScratchFolder folder;
  at::set_num_threads(4);
  const at::Tensor large = at::ones({600, 600}).matmul(at::ones({600, 600})).sin();
  const auto body = [&](Worker& worker, const Trial& trial) {
    check(large.matmul(large).defined(), "large tensors are of use in children");
    learn(worker, trial.strategy);
  };
  const Comparison all = compare(threads(2), {"bsp", "sesgd"}, body, {.out = folder.path()});
  for (const ComparedRow& row : all.table) EXPECT_EQ(row.status, "complete");
}

TEST(Compare, TellsOfARunThatFailsInItsRow) {
  const ScratchFolder folder;
  const auto body = [](Worker& worker, const Trial& trial) {
    if (trial.strategy == "sesgd") throw std::runtime_error("no luck");
    if (trial.strategy == "local_sgd:tau=4") std::abort();
    learn(worker, trial.strategy);
  };
  const Comparison all =
      compare(threads(2), {"bsp", "sesgd", "local_sgd:tau=4"}, body, {.out = folder.path()});
  EXPECT_EQ(all.table.at(0).status, "complete");
  EXPECT_EQ(all.table.at(1).status, "failed: no luck");
  EXPECT_NE(all.table.at(2).status.find("killed by signal 6"), std::string::npos);
}

TEST(Compare, RefusesWhatCannotBeRun) {
  const ScratchFolder folder;
  const auto refused = [&](const std::vector<std::string>& strategies, std::vector<int> seeds) {
    return refusal([&] {
      compare(threads(2), strategies,
              [](Worker& worker, const Trial& trial) { learn(worker, trial.strategy); },
              {.out = folder.path(), .seeds = std::move(seeds)});
    });
  };
  EXPECT_NE(refused({"bsp", "bspp"}, {1}).find("bspp"), std::string::npos);
  EXPECT_NE(refused({"bsp", "bsp"}, {1}).find("twice"), std::string::npos);
  EXPECT_NE(refused({"bsp"}, {1, 1}).find("twice"), std::string::npos);
  EXPECT_NE(refused({}, {1}).find("strategy"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing was begun";
  // Known only where it is attached: so few steps that nothing would ever be exchanged.
  EXPECT_NE(refused({"local_sgd:tau=100"}, {1}).find("local_sgd:tau=100"), std::string::npos);
}

}  // namespace
}  // namespace huddle
