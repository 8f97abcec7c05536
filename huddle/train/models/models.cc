#include "huddle/train/models/models.h"

#include <torch/torch.h>

#include <cmath>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

namespace nn = torch::nn;

// Separates the streams of initial weights from all other uses of the same seed.
constexpr std::uint64_t kInitialWeights = 0x6d6f64656c73;

class Layers final : public Model {
 public:
  explicit Layers(nn::Sequential layers) : layers_(std::move(layers)) {}

  at::Tensor forward(const at::Tensor& images) override { return layers_->forward(images); }
  nn::Module& module() override { return *layers_; }

 private:
  nn::Sequential layers_;
};

nn::Sequential mlp(const Options& options, const InputShape& shape, std::int64_t classes) {
  const std::int64_t pixels = shape.channels * shape.height * shape.width;
  const std::int64_t hidden = options.integer("hidden");
  return nn::Sequential({{"flatten", nn::Flatten()},
                         {"hidden1", nn::Linear(pixels, hidden)},
                         {"relu1", nn::ReLU()},
                         {"hidden2", nn::Linear(hidden, hidden)},
                         {"relu2", nn::ReLU()},
                         {"scores", nn::Linear(hidden, classes)}});
}

nn::Conv2d convolution(std::int64_t from_channels, std::int64_t to_channels) {
  return nn::Conv2d(nn::Conv2dOptions(from_channels, to_channels, 3).padding(1));
}

nn::Sequential cnn(const Options& options, const InputShape& shape, std::int64_t classes) {
  if (shape.height < 4 || shape.width < 4)
    throw UsageError(
        concat("model 'cnn' halves an image twice and needs at least 4 x 4 pixels, not ",
               shape.height, " x ", shape.width, "; choose 'mlp' for smaller ones."));
  const std::int64_t narrow = options.integer("channels");
  const std::int64_t wide = 2 * narrow;
  // Padded convolutions keep the size of an image; each pooling halves it, rounding down.
  const std::int64_t features = wide * (shape.height / 4) * (shape.width / 4);
  return nn::Sequential({{"convolution1", convolution(shape.channels, narrow)},
                         {"norm1", nn::BatchNorm2d(narrow)},
                         {"relu1", nn::ReLU()},
                         {"pool1", nn::MaxPool2d(2)},
                         {"convolution2", convolution(narrow, wide)},
                         {"norm2", nn::BatchNorm2d(wide)},
                         {"relu2", nn::ReLU()},
                         {"pool2", nn::MaxPool2d(2)},
                         {"flatten", nn::Flatten()},
                         {"scores", nn::Linear(features, classes)}});
}

void fill_uniform(const at::Tensor& parameter, double bound, Random& random) {
  const at::Tensor values = at::empty(parameter.sizes(), at::kDouble);
  double* const value = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) value[i] = bound * (2 * random.uniform() - 1);
  const at::NoGradGuard no_grad;
  parameter.copy_(values);
}

// Overwrites what torch drew from its global generator. BatchNorm begins at scale 1 and shift 0,
// where torch leaves it, and needs no randomness.
void draw_weights(nn::Sequential& layers, Random::Seed seed) {
  std::uint64_t index = 0;
  const auto draw = [&](const at::Tensor& weight, const at::Tensor& bias) {
    Random random(seed, {kInitialWeights, index++});
    const std::int64_t fan_in = weight.numel() / weight.size(0);
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    fill_uniform(weight, bound, random);
    fill_uniform(bias, bound, random);
  };
  for (const std::shared_ptr<nn::Module>& layer : layers->children()) {
    if (const auto* linear = layer->as<nn::Linear>()) draw(linear->weight, linear->bias);
    if (const auto* convolution = layer->as<nn::Conv2d>())
      draw(convolution->weight, convolution->bias);
  }
}

}  // namespace

std::vector<SpecInfo> known_models() {
  return {
      {.name = "mlp",
       .summary = "two hidden layers with ReLU",
       .keys = {{.name = "hidden",
                 .fallback = "128",
                 .help = "units of each hidden layer",
                 .minimum = 1,
                 .maximum = 1e6}}},
      {.name = "cnn",
       .summary = "two 3 x 3 convolutions, each with BatchNorm, ReLU and pooling",
       .keys = {{.name = "channels",
                 .fallback = "16",
                 .help = "channels of the first convolution; the second has twice as many",
                 .minimum = 1,
                 .maximum = 1e6}}},
  };
}

std::unique_ptr<Model> make_model(std::string_view spec, const InputShape& shape,
                                  std::int64_t classes, Random::Seed seed) {
  check(classes >= 1, "a classifier needs a class");
  check(shape.channels >= 1 && shape.height >= 1 && shape.width >= 1, "images have no pixels");
  const Spec parsed = parse_spec(spec);
  const Options options("model", find_info("model", known_models(), parsed.name), parsed);
  nn::Sequential layers =
      parsed.name == "mlp" ? mlp(options, shape, classes) : cnn(options, shape, classes);
  draw_weights(layers, seed);
  return std::make_unique<Layers>(std::move(layers));
}

}  // namespace huddle
