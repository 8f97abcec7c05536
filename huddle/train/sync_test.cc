#include "huddle/train/sync.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "huddle/base/error.h"
#include "huddle/train/models/models.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

at::Tensor batch_of(int worker, int step) {
  return torch::arange(4 * 64, torch::kFloat).reshape({4, 1, 8, 8}).sin() * (1 + worker) +
         0.1 * step;
}

at::Tensor loss_of(Model& model, const at::Tensor& images) {
  return torch::nn::functional::cross_entropy(model.forward(images),
                                              torch::tensor({0, 1, 2, 3}, torch::kLong));
}

TEST(Sync, BspEqualsOneWorkerOnTheJoinedBatchForAModelWithoutBatchNorm) {
  const auto reference = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
  torch::optim::SGD optimizer(reference->module().parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    ((loss_of(*reference, batch_of(0, step)) + loss_of(*reference, batch_of(1, step))) / 2)
        .backward();
    optimizer.step();
  }
  make_threads_launcher({.cluster = {.workers = 2}})->run([&](Endpoint& endpoint) {
    const auto model =
        make_model("mlp:hidden=16", {1, 8, 8}, 10,
                   1 + static_cast<std::uint64_t>(endpoint.self().value));  // Made equal by attach.
    torch::optim::SGD own(model->module().parameters(),
                          torch::optim::SGDOptions(0.05).momentum(0.9));
    Sync sync(endpoint, model->module(), own, "bsp:buckets=3", {});
    for (int step = 0; step < 5; ++step) {
      sync.begin_step();
      loss_of(*model, batch_of(endpoint.self().value, step)).backward();
      sync.step();
    }
    sync.finish();
    const auto expected = reference->module().parameters();
    const auto actual = model->module().parameters();
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(torch::allclose(actual[i], expected[i], 1e-5, 1e-6));
  });
}

TEST(Sync, AccumulatesBackwardPassesBeforeItExchanges) {
  at::Tensor once;
  for (const int passes : {1, 2})
    make_threads_launcher({.cluster = {.workers = 2}})->run([&](Endpoint& endpoint) {
      const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
      torch::optim::SGD optimizer(model->module().parameters(), 0.05);
      Sync sync(endpoint, model->module(), optimizer, "bsp:buckets=2", {});
      for (int step = 0; step < 3; ++step) {
        sync.begin_step(passes);
        for (int pass = 0; pass < passes; ++pass)
          (loss_of(*model, batch_of(endpoint.self().value, step)) / passes).backward();
        sync.step();
      }
      if (endpoint.self().value != 0) return;
      if (passes == 1) once = sync.replica().parameters().clone();
      EXPECT_TRUE(torch::allclose(sync.replica().parameters(), once, 1e-5, 1e-6));
    });
}

TEST(Sync, FollowsALearningRateThatTheUserChanges) {
  make_threads_launcher({.cluster = {.workers = 1}})->run([&](Endpoint& endpoint) {
    const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
    torch::optim::SGD optimizer(model->module().parameters(), 0.05);
    Sync sync(endpoint, model->module(), optimizer, "bsp", {});
    optimizer.param_groups().front().options().set_lr(0);
    const at::Tensor before = sync.replica().parameters().clone();
    sync.begin_step();
    loss_of(*model, batch_of(0, 0)).backward();
    sync.step();
    EXPECT_TRUE(torch::equal(sync.replica().parameters(), before));
  });
}

TEST(Sync, ConsensusIsTheMeanForTheTimeOfItsBlock) {
  make_threads_launcher({.cluster = {.workers = 3}})->run([&](Endpoint& endpoint) {
    const auto model = make_model("cnn:channels=2", {1, 8, 8}, 10, 1);
    torch::optim::SGD optimizer(model->module().parameters(), 0.05);
    Sync sync(endpoint, model->module(), optimizer, "bsp", {});
    const at::Tensor common = sync.replica().parameters().clone();
    const at::Tensor common_statistics = sync.replica().statistics().clone();
    sync.replica().parameters().add_(endpoint.self().value - 1);
    sync.replica().statistics().add_(endpoint.self().value - 1);
    const at::Tensor own = sync.replica().parameters().clone();
    {
      const Sync::Consensus consensus = sync.consensus();
      EXPECT_TRUE(torch::allclose(sync.replica().parameters(), common, 1e-5, 1e-6));
      EXPECT_TRUE(torch::allclose(sync.replica().statistics(), common_statistics, 1e-5, 1e-6));
      const double expected =
          std::sqrt(2.0 / 3 * static_cast<double>(own.numel())) / common.norm().item<double>();
      EXPECT_NEAR(consensus.drift(), expected, 1e-4 * expected);
    }
    EXPECT_TRUE(torch::equal(sync.replica().parameters(), own));
    EXPECT_GT(sync.drift(), 0);
    EXPECT_TRUE(torch::equal(sync.replica().parameters(), own))
        << "measuring drift must not change the model";
  });
}

TEST(Sync, ToleratesTheUsersOwnZeroGradBeforeAndAfterBeginStep) {
  std::vector<at::Tensor> results;
  for (const int when : {0, 1, 2})
    make_threads_launcher({.cluster = {.workers = 1}})->run([&](Endpoint& endpoint) {
      const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
      torch::optim::SGD optimizer(model->module().parameters(), 0.05);
      Sync sync(endpoint, model->module(), optimizer, "bsp:buckets=2", {});
      for (int step = 0; step < 3; ++step) {
        if (when == 1) optimizer.zero_grad();
        sync.begin_step();
        if (when == 2) optimizer.zero_grad();
        loss_of(*model, batch_of(0, step)).backward();
        sync.step();
      }
      results.push_back(sync.replica().parameters().clone());
    });
  EXPECT_TRUE(torch::equal(results[1], results[0]));
  EXPECT_TRUE(torch::equal(results[2], results[0]));
}

// Two workers whose batches are one worker's, so that the mean gradient is that worker's own.
TEST(Sync, LetsAnyOtherOptimizerTakeItsStepsItself) {
  const auto make = [] { return make_model("mlp:hidden=16", {1, 8, 8}, 10, 1); };
  const auto alone = make();
  torch::optim::RMSprop by_itself(alone->module().parameters(), 0.01);
  for (int step = 0; step < 5; ++step) {
    by_itself.zero_grad();
    loss_of(*alone, batch_of(0, step)).backward();
    by_itself.step();
  }
  make_threads_launcher({.cluster = {.workers = 2}})->run([&](Endpoint& endpoint) {
    const auto model = make();
    torch::optim::RMSprop optimizer(model->module().parameters(), 0.01);
    Sync sync(endpoint, model->module(), optimizer, "bsp", {});
    for (int step = 0; step < 5; ++step) {
      sync.begin_step();
      loss_of(*model, batch_of(0, step)).backward();
      sync.step();
    }
    sync.finish();
    const auto expected = alone->module().parameters();
    const auto given = model->module().parameters();
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(torch::allclose(given[i], expected[i], 1e-4, 1e-5)) << i;
  });
}

// A kind of SGD that goes the other way.
struct Uphill final : torch::optim::SGD {
  using SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override {
    for (const at::Tensor& parameter : param_groups().front().params())
      parameter.mutable_grad().neg_();
    return SGD::step(closure);
  }
};

TEST(Sync, LetsAKindOfSgdStepInItsOwnWay) {
  make_threads_launcher({.cluster = {.workers = 1}})->run([&](Endpoint& endpoint) {
    const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
    Uphill optimizer(model->module().parameters(), 0.01);
    Sync sync(endpoint, model->module(), optimizer, "bsp", {});
    const double before = loss_of(*model, batch_of(0, 0)).item<double>();
    sync.begin_step();
    loss_of(*model, batch_of(0, 0)).backward();
    sync.step();
    EXPECT_GT(loss_of(*model, batch_of(0, 0)).item<double>(), before);
  });
}

// Which is for records alone: the optimizer steps by itself.
TEST(Sync, TakesAnOptimizerWithoutALearningRate) {
  struct Options : torch::optim::OptimizerCloneableOptions<Options> {};
  struct Halving : torch::optim::Optimizer {
    explicit Halving(std::vector<at::Tensor> parameters)
        : Optimizer(std::move(parameters), std::make_unique<Options>()) {}
    at::Tensor step(LossClosure) override {
      const torch::NoGradGuard guard;
      for (at::Tensor& each : param_groups()[0].params()) each.mul_(0.5);
      return {};
    }
  };
  make_threads_launcher({.cluster = {.workers = 1}})->run([](Endpoint& endpoint) {
    torch::nn::Linear model(1, 1);
    model->weight.detach().fill_(8);
    Halving optimizer(model->parameters());
    Sync sync(endpoint, *model, optimizer, "bsp", {});
    sync.begin_step();
    model(at::ones({1, 1})).sum().backward();
    sync.step();
    EXPECT_EQ(model->weight.item<float>(), 4);
  });
}

TEST(Sync, RefusesLbfgs) {
  const std::string said = refusal([] {
    make_threads_launcher({.cluster = {.workers = 1}})->run([&](Endpoint& endpoint) {
      const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
      torch::optim::LBFGS optimizer(model->module().parameters());
      Sync(endpoint, model->module(), optimizer, "bsp", {});
    });
  });
  EXPECT_NE(said.find("AdamW"), std::string::npos) << said;
}

TEST(Sync, ResumesWhatDoesNotSayHowManyStepsWereTaken) {
  make_threads_launcher({.cluster = {.workers = 1}})->run([&](Endpoint& endpoint) {
    const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
    torch::optim::SGD optimizer(model->module().parameters(), 0.05);
    Sync sync(endpoint, model->module(), optimizer, "bsp", {});
    std::map<std::string, at::Tensor> state = sync.save();
    EXPECT_EQ(state.erase("number/steps_taken"), 1u);
    EXPECT_NO_THROW(sync.load(state));
  });
}

TEST(Sync, RefusesStrategiesThatMustStepForAnotherOptimizer) {
  for (const char* const strategy :
       {"asp", "eager", "ds_sync:overlap=backward,buckets=2", "local_sgd:slots=average"}) {
    const std::string said = refusal([&] {
      make_threads_launcher({.cluster = {.workers = 4}})->run([&](Endpoint& endpoint) {
        const auto model = make_model("mlp:hidden=16", {1, 8, 8}, 10, 1);
        torch::optim::RMSprop optimizer(model->module().parameters(), 0.05);
        Sync(endpoint, model->module(), optimizer, strategy, {});
      });
    });
    EXPECT_NE(said.find(" own: use "), std::string::npos) << strategy << ": " << said;
  }
}

}  // namespace
}  // namespace huddle
