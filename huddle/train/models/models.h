// The models that Huddle brings along: small classifiers of images, enough to compare strategies on
// real digits without any framework around them.
//
// Initial weights come from the seed alone, in the distribution that torch uses by default
// (uniform within 1 / sqrt(fan_in) of 0), so that every worker of every engine can make the same
// model without a message.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "huddle/base/random.h"
#include "huddle/base/spec.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace huddle {

// The shape of one image.
struct InputShape {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// A module together with its forward pass, which torch::nn::Module itself does not declare. Hides
// torch's large headers from those who only train. Used by its worker's thread alone.
class Model {
 public:
  virtual ~Model() = default;

  // Scores (logits) of each class, examples x classes, for a batch of examples x channels x height
  // x width.
  virtual at::Tensor forward(const at::Tensor& images) = 0;

  // Owned by the model.
  virtual torch::nn::Module& module() = 0;
};

// What may be chosen, for validation and help.
std::vector<SpecInfo> known_models();

// `spec` such as "mlp:hidden=64". Equal arguments give equal bits, whatever the state of torch's
// global generator; the parameters are float32. Throws UsageError on an unknown model or key, and
// on images that are too small for the model. REQUIRES: classes >= 1, the shape is positive.
std::unique_ptr<Model> make_model(std::string_view spec, const InputShape& shape,
                                  std::int64_t classes, Random::Seed seed);

}  // namespace huddle
