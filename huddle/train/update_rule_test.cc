// The update rules against torch::optim. Stands in train/, the one part that may see all of torch.

#include "huddle/replica/update_rule.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/replica/replica.h"

namespace huddle {
namespace {

using Kind = UpdateOptions::Kind;

constexpr int kSteps = 100;

at::Tensor random_values(std::int64_t size, Random::Seed seed) {
  Random random(seed);
  at::Tensor values = at::empty({size}, at::kDouble);
  for (std::int64_t i = 0; i < size; ++i) values.data_ptr<double>()[i] = random.normal();
  return values;
}

// Gradients of mixed signs and scales that also depend on the parameters, as real ones do.
at::Tensor gradients_at(const at::Tensor& parameters, int step) {
  const at::Tensor noise =
      random_values(parameters.numel(), static_cast<Random::Seed>(step) + 1000);
  const at::Tensor values = parameters.detach() * 0.3 + noise * (step % 7 == 0 ? 10.0 : 0.1);
  return values.to(parameters.scalar_type());
}

double learning_rate_at(const UpdateOptions& options, int step) {
  return options.learning_rate * (step < 50 ? 1.0 : 0.2) * (1.0 + 0.01 * step);
}

std::unique_ptr<torch::optim::Optimizer> torch_optimizer(const UpdateOptions& options,
                                                         const at::Tensor& parameters) {
  const std::vector<at::Tensor> all{parameters};
  const auto betas = std::make_tuple(options.beta1, options.beta2);
  if (options.kind == Kind::sgd)
    return std::make_unique<torch::optim::SGD>(all, torch::optim::SGDOptions(options.learning_rate)
                                                        .momentum(options.momentum)
                                                        .nesterov(options.nesterov)
                                                        .weight_decay(options.weight_decay));
  if (options.kind == Kind::adam)
    return std::make_unique<torch::optim::Adam>(all,
                                                torch::optim::AdamOptions(options.learning_rate)
                                                    .betas(betas)
                                                    .eps(options.epsilon)
                                                    .weight_decay(options.weight_decay));
  return std::make_unique<torch::optim::AdamW>(all,
                                               torch::optim::AdamWOptions(options.learning_rate)
                                                   .betas(betas)
                                                   .eps(options.epsilon)
                                                   .weight_decay(options.weight_decay));
}

at::Tensor trained_by_torch(const UpdateOptions& options, std::int64_t size) {
  at::Tensor parameters = random_values(size, 1).requires_grad_();
  const auto optimizer = torch_optimizer(options, parameters);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->param_groups()[0].options().set_lr(learning_rate_at(options, step));
    parameters.mutable_grad() = gradients_at(parameters, step);
    optimizer->step();
  }
  return parameters.detach();
}

// Each step is applied to the elements before `cut_at` and to those from there on.
at::Tensor trained_by_rule(const UpdateOptions& options, std::int64_t size, std::int64_t cut_at,
                           at::ScalarType type) {
  const UpdateRule rule(options);
  const at::Tensor parameters = random_values(size, 1).to(type);
  std::vector<at::Tensor> slots(rule.slot_names().size());
  for (at::Tensor& slot : slots) slot = at::zeros_like(parameters);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor gradients = gradients_at(parameters, step);
    const at::Tensor untouched = gradients.clone();
    for (const auto& [begin, end] : {std::pair{cut_at, size}, std::pair{std::int64_t{0}, cut_at}}) {
      std::vector<at::Tensor> parts;
      for (const at::Tensor& slot : slots) parts.push_back(slot.slice(0, begin, end));
      rule.apply(parameters.slice(0, begin, end), gradients.slice(0, begin, end), parts,
                 learning_rate_at(options, step), step + 1);
    }
    EXPECT_TRUE(gradients.equal(untouched)) << "the gradients are not the rule's to change";
  }
  return parameters;
}

void expect_equal_to_torch(const UpdateOptions& options) {
  for (const std::int64_t size : {1, 2, 17, 1009}) {
    const at::Tensor expected = trained_by_torch(options, size);
    for (const std::int64_t cut_at : {std::int64_t{0}, size / 3}) {
      const at::Tensor found = trained_by_rule(options, size, cut_at, at::kDouble);
      EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12)
          << "size " << size << " cut at " << cut_at;
    }
  }
}

TEST(UpdateRule, EqualsTorchSgd) {
  expect_equal_to_torch({.kind = Kind::sgd, .learning_rate = 0.05});
  expect_equal_to_torch({.kind = Kind::sgd, .learning_rate = 0.05, .weight_decay = 0.01});
}

TEST(UpdateRule, EqualsTorchSgdWithMomentum) {
  expect_equal_to_torch({.kind = Kind::sgd, .learning_rate = 0.05, .momentum = 0.9});
  expect_equal_to_torch(
      {.kind = Kind::sgd, .learning_rate = 0.05, .weight_decay = 0.01, .momentum = 0.9});
}

TEST(UpdateRule, EqualsTorchSgdWithNesterovMomentum) {
  expect_equal_to_torch(
      {.kind = Kind::sgd, .learning_rate = 0.05, .momentum = 0.8, .nesterov = true});
  expect_equal_to_torch({.kind = Kind::sgd,
                         .learning_rate = 0.05,
                         .weight_decay = 0.01,
                         .momentum = 0.8,
                         .nesterov = true});
}

TEST(UpdateRule, EqualsTorchAdam) {
  expect_equal_to_torch({.kind = Kind::adam, .learning_rate = 0.01});
  expect_equal_to_torch({.kind = Kind::adam,
                         .learning_rate = 0.01,
                         .weight_decay = 0.1,
                         .beta1 = 0.8,
                         .beta2 = 0.95,
                         .epsilon = 1e-3});
}

TEST(UpdateRule, EqualsTorchAdamW) {
  expect_equal_to_torch({.kind = Kind::adamw, .learning_rate = 0.01});
  expect_equal_to_torch({.kind = Kind::adamw,
                         .learning_rate = 0.01,
                         .weight_decay = 0.1,
                         .beta1 = 0.8,
                         .beta2 = 0.95,
                         .epsilon = 1e-3});
}

TEST(UpdateRule, GivesTheSameBitsWholeAndInParts) {
  for (const Kind kind : {Kind::sgd, Kind::adam, Kind::adamw}) {
    const UpdateOptions options{
        .kind = kind, .learning_rate = 0.01, .weight_decay = 0.1, .momentum = 0.9};
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const at::Tensor whole = trained_by_rule(options, 1009, 0, type);
      for (const std::int64_t cut_at : {1, 336, 1008})
        EXPECT_TRUE(whole.equal(trained_by_rule(options, 1009, cut_at, type)))
            << type << " cut at " << cut_at;
    }
  }
}

TEST(UpdateRule, ClipsAsTorchDoes) {
  for (Random::Seed seed = 0; seed < 200; ++seed) {
    const at::Tensor values = random_values(50, seed).to(at::kFloat);
    at::Tensor parameter = at::zeros({50});
    parameter.mutable_grad() = values.clone();
    torch::nn::utils::clip_grad_norm_(std::vector<at::Tensor>{parameter}, 0.7);
    Replica replica(at::zeros({50}), values, at::zeros({0}), {50}, UpdateRule({}));
    replica.clip_gradients(0.7);
    EXPECT_TRUE(at::equal(replica.gradients(), parameter.grad())) << seed;
  }
}

TEST(UpdateRule, LeavesNoTraceInAutograd) {
  const at::Tensor parameters = at::ones({3}).requires_grad_();
  UpdateRule({.learning_rate = 0.5}).apply(parameters, at::ones({3}), {}, 0.5, 1);
  EXPECT_TRUE(parameters.is_leaf());
  EXPECT_TRUE(parameters.detach().equal(at::full({3}, 0.5)));
}

TEST(UpdateRule, KeepsSmallWeightDecayUnbiasedInFloat32) {
  // The mean over many values shows a bias that the rounding of each single one would hide.
  const at::Tensor before = random_values(10000, 1).abs().to(at::kFloat) + 1;
  const at::Tensor parameters = before.clone();
  const at::Tensor zeros = at::zeros_like(parameters);
  const std::vector<at::Tensor> slots{zeros.clone(), zeros.clone()};
  const UpdateRule rule({.kind = Kind::adamw, .learning_rate = 0.01, .weight_decay = 1e-4});
  rule.apply(parameters, zeros, slots, 0.01, 1);
  const at::Tensor decayed = (before.to(at::kDouble) - parameters) / before;
  EXPECT_NEAR(decayed.mean().item<double>(), 1e-6, 3e-9);
}

TEST(UpdateRule, NamesTheSlotsItNeeds) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(UpdateRule({.momentum = 0}).slot_names(), Names{});
  EXPECT_EQ(UpdateRule({.momentum = 0.9}).slot_names(), Names{"momentum"});
  EXPECT_EQ(UpdateRule({.kind = Kind::adam}).slot_names(), (Names{"exp_avg", "exp_avg_sq"}));
  EXPECT_EQ(UpdateRule({.kind = Kind::adamw}).slot_names(), (Names{"exp_avg", "exp_avg_sq"}));
}

TEST(UpdateRule, RefusesValuesThatTorchRefusesToo) {
  EXPECT_THROW(UpdateRule({.learning_rate = -0.1}), UsageError);
  EXPECT_THROW(UpdateRule({.learning_rate = std::nan("")}), UsageError);
  EXPECT_THROW(UpdateRule({.weight_decay = -1}), UsageError);
  EXPECT_THROW(UpdateRule({.momentum = -0.5}), UsageError);
  EXPECT_THROW(UpdateRule({.momentum = 0, .nesterov = true}), UsageError);
  EXPECT_THROW(UpdateRule({.kind = Kind::adam, .beta1 = 1}), UsageError);
  EXPECT_THROW(UpdateRule({.kind = Kind::adam, .beta2 = -0.1}), UsageError);
  EXPECT_THROW(UpdateRule({.kind = Kind::adam, .epsilon = -1e-8}), UsageError);
  EXPECT_NO_THROW(UpdateRule({.learning_rate = 0, .beta1 = 0, .beta2 = 0}));
}

}  // namespace
}  // namespace huddle
