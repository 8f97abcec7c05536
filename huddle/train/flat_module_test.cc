#include "huddle/train/flat_module.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/train/models/models.h"

namespace huddle {
namespace {

constexpr InputShape kDigits{.channels = 1, .height = 8, .width = 8};

std::unique_ptr<Model> make_cnn(at::ScalarType type) {
  at::set_num_threads(1);  // On a busy machine, threads waiting for one another take seconds here.
  auto model = make_model("cnn:channels=4", kDigits, 10, 1);
  // Not Module::to, which converts the integer counters of BatchNorm as well.
  for (const at::Tensor& parameter : model->module().parameters())
    parameter.set_data(parameter.detach().to(type));
  for (const at::Tensor& buffer : model->module().buffers())
    if (buffer.is_floating_point()) buffer.set_data(buffer.to(type));
  return model;
}

at::Tensor images(at::ScalarType type, Random::Seed seed) {
  Random random(seed);
  at::Tensor values = at::empty({6, 1, 8, 8}, at::kDouble);
  for (std::int64_t i = 0; i < values.numel(); ++i) values.data_ptr<double>()[i] = random.uniform();
  return values.to(type);
}

// Adds the gradients of one batch to the module's and gives the loss.
at::Tensor backward(Model& model, at::ScalarType type, Random::Seed seed) {
  const at::Tensor labels = torch::arange(6, at::kLong);
  const at::Tensor loss = torch::cross_entropy_loss(model.forward(images(type, seed)), labels);
  loss.backward();
  return loss.detach();
}

at::Tensor concatenated_gradients(Model& model) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model.module().parameters())
    gradients.push_back(parameter.grad().flatten());
  return at::cat(gradients);
}

at::Tensor concatenated_parameters(Model& model) {
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : model.module().parameters())
    values.push_back(parameter.detach().flatten());
  return at::cat(values);
}

void expect_close(const at::Tensor& found, const at::Tensor& expected) {
  ASSERT_EQ(found.scalar_type(), expected.scalar_type());
  const double tolerance = found.scalar_type() == at::kDouble ? 1e-12 : 1e-5;
  EXPECT_TRUE(at::allclose(found, expected, tolerance, tolerance));
}

TEST(FlatModule, PreservesValuesInTheModulesOrder) {
  const auto model = make_cnn(at::kFloat);
  const at::Tensor before = concatenated_parameters(*model);
  const FlatModule flat = flatten(model->module());
  EXPECT_TRUE(flat.parameters.equal(before));
  EXPECT_TRUE(concatenated_parameters(*model).equal(before));
  EXPECT_TRUE(flat.gradients.equal(at::zeros_like(before)));
  EXPECT_FALSE(flat.parameters.requires_grad());
  EXPECT_TRUE(flat.parameters.is_contiguous());
  EXPECT_EQ(flat.parameter_names.front(), "convolution1.weight");
  EXPECT_EQ(flat.parameter_names.back(), "scores.bias");
  EXPECT_EQ(flat.parameter_sizes.front(), 4 * 9);
  EXPECT_EQ(flat.parameter_sizes.size(), flat.parameter_names.size());
}

TEST(FlatModule, ComputesTheSameLossAndGradientsAsAPlainModule) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const auto plain = make_cnn(type);
    const auto model = make_cnn(type);
    const FlatModule flat = flatten(model->module());
    for (const Random::Seed seed : {1, 2}) {  // The second backward adds to the first.
      expect_close(backward(*model, type, seed), backward(*plain, type, seed));
      expect_close(flat.gradients, concatenated_gradients(*plain));
    }
    EXPECT_GT(flat.gradients.abs().max().item<double>(), 0.01);
  }
}

TEST(FlatModule, ReceivesBatchNormStatistics) {
  const auto plain = make_cnn(at::kFloat);
  const auto model = make_cnn(at::kFloat);
  const FlatModule flat = flatten(model->module());
  // Mean 0 and variance 1 of each of the two layers, 4 and 8 channels.
  EXPECT_TRUE(flat.statistics.equal(
      at::cat({at::zeros({4}), at::ones({4}), at::zeros({8}), at::ones({8})})));
  ASSERT_EQ(flat.variances.size(), 2u);
  for (const Range& each : flat.variances)
    EXPECT_TRUE(part(flat.statistics, each).equal(at::ones({each.size()})));
  backward(*plain, at::kFloat, 1);
  backward(*model, at::kFloat, 1);
  const auto buffers = plain->module().named_buffers();
  expect_close(flat.statistics,
               at::cat({buffers["norm1.running_mean"], buffers["norm1.running_var"],
                        buffers["norm2.running_mean"], buffers["norm2.running_var"]}));
  EXPECT_NE(flat.statistics[0].item<float>(), 0);
}

TEST(FlatModule, EvaluatesWithStatisticsWrittenToTheFlatTensor) {
  const auto model = make_cnn(at::kFloat);
  const FlatModule flat = flatten(model->module());
  model->module().eval();
  const at::Tensor before = model->forward(images(at::kFloat, 1)).detach();
  flat.statistics.fill_(0.5);
  EXPECT_FALSE(at::allclose(model->forward(images(at::kFloat, 1)).detach(), before));
}

TEST(FlatModule, ComputesWithParametersChangedInTheFlatTensor) {
  const auto plain = make_cnn(at::kDouble);
  const auto model = make_cnn(at::kDouble);
  const FlatModule flat = flatten(model->module());
  for (const Random::Seed seed : {1, 2, 3}) {
    flat.gradients.zero_();
    plain->module().zero_grad();
    expect_close(backward(*model, at::kDouble, seed), backward(*plain, at::kDouble, seed));
    flat.parameters.add_(flat.gradients, -0.1);
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : plain->module().parameters())
      parameter.add_(parameter.grad(), -0.1);
  }
  expect_close(flat.parameters, concatenated_parameters(*plain));
}

TEST(FlatModule, RestoresGradientViewsAfterZeroGrad) {
  const auto model = make_cnn(at::kDouble);
  FlatModule flat = flatten(model->module());
  backward(*model, at::kDouble, 1);
  const at::Tensor expected = flat.gradients.clone();
  model->module().zero_grad();
  restore_gradient_views(flat);
  EXPECT_TRUE(flat.gradients.equal(at::zeros_like(expected)));
  backward(*model, at::kDouble, 1);
  expect_close(flat.gradients, expected);
}

TEST(FlatModule, CopiesGradientsThatAreNotItsViews) {
  const auto model = make_cnn(at::kDouble);
  FlatModule flat = flatten(model->module());
  model->module().zero_grad();
  backward(*model, at::kDouble, 1);  // Into tensors of autograd's own.
  EXPECT_TRUE(flat.gradients.equal(at::zeros_like(flat.gradients)));
  restore_gradient_views(flat);
  EXPECT_GT(flat.gradients.abs().max().item<double>(), 0.01);
  EXPECT_TRUE(flat.gradients.equal(concatenated_gradients(*model)));
  flat.gradients.fill_(3);
  EXPECT_EQ(model->module().parameters()[0].grad().min().item<double>(), 3);
}

TEST(FlatModule, KeepsGradientsThatExistAlready) {
  const auto model = make_cnn(at::kDouble);
  backward(*model, at::kDouble, 1);
  const at::Tensor before = concatenated_gradients(*model).clone();
  EXPECT_TRUE(flatten(model->module()).gradients.equal(before));
}

TEST(FlatModule, LeavesFrozenParametersApart) {
  const auto model = make_model("mlp:hidden=3", kDigits, 10, 1);
  model->module().named_parameters()["hidden1.weight"].requires_grad_(false);
  const FlatModule flat = flatten(model->module());
  EXPECT_EQ(flat.parameters.numel(), 3 + 3 * 3 + 3 + 3 * 10 + 10);
  EXPECT_EQ(flat.parameter_names.front(), "hidden1.bias");
  EXPECT_EQ(state_dict(model->module()).count("hidden1.weight"), 1u);
}

TEST(FlatModule, HoldsASharedParameterOnce) {
  torch::nn::Linear first(3, 3);
  torch::nn::Linear second(3, 3);
  second->register_parameter("tied", first->weight);
  torch::nn::Sequential both(first, second);
  EXPECT_EQ(flatten(*both).parameters.numel(), 9 + 3 + 9 + 3);
}

TEST(FlatModule, AcceptsAModuleWithoutParametersOrStatistics) {
  torch::nn::Sequential nothing{torch::nn::ReLU()};
  FlatModule flat = flatten(*nothing);
  EXPECT_EQ(flat.parameters.numel(), 0);
  EXPECT_EQ(flat.statistics.numel(), 0);
  EXPECT_NO_THROW(restore_gradient_views(flat));
}

TEST(FlatModule, RefusesParametersOfMixedTypes) {
  torch::nn::Linear single(2, 2);
  torch::nn::Linear twofold(2, 2);
  twofold->to(at::kDouble);
  torch::nn::Sequential both(single, twofold);
  EXPECT_THROW(flatten(*both), UsageError);
}

TEST(StateDict, NamesParametersAndBuffersOfEveryType) {
  const auto model = make_cnn(at::kFloat);
  const FlatModule flat = flatten(model->module());
  const auto state = state_dict(model->module());
  EXPECT_EQ(state.size(), 10u + 6u);
  EXPECT_EQ(state.at("norm1.num_batches_tracked").scalar_type(), at::kLong);
  EXPECT_EQ(state.at("convolution1.weight").sizes(), (std::vector<std::int64_t>{4, 1, 3, 3}));
  EXPECT_FALSE(state.at("convolution1.weight").requires_grad());
}

TEST(StateDict, LoadsByCopyingIntoItsTensors) {
  const auto model = make_cnn(at::kFloat);
  const FlatModule flat = flatten(model->module());
  for (const auto& [name, tensor] : state_dict(model->module())) tensor.fill_(2);
  EXPECT_TRUE(flat.parameters.equal(at::full_like(flat.parameters, 2)));
  EXPECT_TRUE(flat.statistics.equal(at::full_like(flat.statistics, 2)));
  EXPECT_EQ(model->module().named_buffers()["norm2.num_batches_tracked"].item<int>(), 2);
}

}  // namespace
}  // namespace huddle
