#include "huddle/train/models/models.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr InputShape kDigitShape{.channels = 1, .height = 8, .width = 8};
constexpr InputShape kMnist{.channels = 1, .height = 28, .width = 28};

std::int64_t parameter_count(Model& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.module().parameters()) count += parameter.numel();
  return count;
}

bool equal_weights(Model& a, Model& b) {
  const std::vector<at::Tensor> left = a.module().parameters();
  const std::vector<at::Tensor> right = b.module().parameters();
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!left[i].equal(right[i])) return false;
  return true;
}

TEST(Models, HaveTheParametersTheyDescribe) {
  EXPECT_EQ(parameter_count(*make_model("mlp", kDigitShape, 10, 1)),
            64 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10);
  EXPECT_EQ(parameter_count(*make_model("mlp:hidden=7", kDigitShape, 3, 1)),
            64 * 7 + 7 + 7 * 7 + 7 + 7 * 3 + 3);
  EXPECT_EQ(parameter_count(*make_model("cnn", kDigitShape, 10, 1)),
            9 * 16 + 16 + 2 * 16 + 16 * 32 * 9 + 32 + 2 * 32 + 32 * 2 * 2 * 10 + 10);
  EXPECT_EQ(parameter_count(*make_model("cnn:channels=4", kMnist, 10, 1)),
            9 * 4 + 4 + 2 * 4 + 4 * 8 * 9 + 8 + 2 * 8 + 8 * 7 * 7 * 10 + 10);
}

TEST(Models, ScoreEveryClassOfEveryImage) {
  for (const char* spec : {"mlp", "cnn"}) {
    for (const InputShape& shape : {kDigitShape, kMnist, InputShape{3, 5, 11}}) {
      const auto model = make_model(spec, shape, 10, 1);
      const at::Tensor images = torch::ones({3, shape.channels, shape.height, shape.width});
      EXPECT_EQ(model->forward(images).sizes(), (std::vector<std::int64_t>{3, 10})) << spec;
    }
  }
}

TEST(Models, RepeatWithEqualSeedsWhateverTorchsGenerator) {
  for (const char* spec : {"mlp", "cnn"}) {
    torch::manual_seed(1);
    const auto first = make_model(spec, kDigitShape, 10, 7);
    torch::manual_seed(2);
    const auto second = make_model(spec, kDigitShape, 10, 7);
    const auto other = make_model(spec, kDigitShape, 10, 8);
    EXPECT_TRUE(equal_weights(*first, *second)) << spec;
    EXPECT_FALSE(equal_weights(*first, *other)) << spec;
  }
}

// The mean of n values uniform in ±bound has deviation bound / sqrt(3 n); 5 of them never happen.
void expect_uniform(const at::Tensor& weight, double bound) {
  const double count = static_cast<double>(weight.numel());
  EXPECT_LE(weight.abs().max().item<double>(), bound);
  EXPECT_GT(weight.abs().max().item<double>(), 0.98 * bound);
  EXPECT_LT(std::abs(weight.mean().item<double>()), 5 * bound / std::sqrt(3 * count));
  EXPECT_NEAR(weight.var().item<double>(), bound * bound / 3, 0.1 * bound * bound / 3);
}

TEST(Models, DrawWeightsUniformlyWithinTheFanIn) {
  const auto mlp = make_model("mlp", kDigitShape, 10, 3);
  const auto mlp_weights = mlp->module().named_parameters();
  expect_uniform(mlp_weights["hidden1.weight"], 1 / std::sqrt(64.0));
  expect_uniform(mlp_weights["hidden2.weight"], 1 / std::sqrt(128.0));
  EXPECT_LE(mlp_weights["hidden2.bias"].abs().max().item<double>(), 1 / std::sqrt(128.0));
  EXPECT_GT(mlp_weights["hidden2.bias"].abs().max().item<double>(), 0.9 / std::sqrt(128.0));
  const auto cnn = make_model("cnn", kDigitShape, 10, 3);
  const auto cnn_weights = cnn->module().named_parameters();
  expect_uniform(cnn_weights["convolution2.weight"], 1 / std::sqrt(16.0 * 9));
  EXPECT_TRUE(cnn_weights["norm1.weight"].equal(torch::ones({16})));
  EXPECT_TRUE(cnn_weights["norm1.bias"].equal(torch::zeros({16})));
}

TEST(Models, DrawEveryLayerFromItsOwnStream) {
  const auto model = make_model("mlp:hidden=64", kDigitShape, 64, 3);
  const auto weights = model->module().named_parameters();
  EXPECT_FALSE(weights["hidden1.weight"].equal(weights["hidden2.weight"]));
  EXPECT_FALSE(weights["hidden2.weight"].equal(weights["scores.weight"]));
}

TEST(Models, RefuseUnknownNamesAndKeys) {
  try {
    make_model("cn", kDigitShape, 10, 1);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("unknown model 'cn'"), std::string::npos) << message;
    EXPECT_NE(message.find("did you mean 'cnn'"), std::string::npos) << message;
  }
  EXPECT_THROW(make_model("mlp:channels=3", kDigitShape, 10, 1), UsageError);
  EXPECT_THROW(make_model("mlp:hidden=0", kDigitShape, 10, 1), UsageError);
}

TEST(Models, RefuseImagesTooSmallToPoolTwice) {
  EXPECT_THROW(make_model("cnn", {.channels = 1, .height = 3, .width = 8}, 10, 1), UsageError);
  EXPECT_NO_THROW(make_model("cnn", {.channels = 1, .height = 4, .width = 4}, 10, 1));
}

TEST(Models, AreDescribedForHelp) {
  for (const SpecInfo& info : known_models())
    EXPECT_NO_THROW(make_model(info.name, kDigitShape, 10, 1)) << info.name;
}

}  // namespace
}  // namespace huddle
