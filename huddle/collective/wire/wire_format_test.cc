#include "huddle/collective/wire/wire_format.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace huddle {
namespace {

at::Tensor message_for(WireFormat format, const at::Tensor& values) {
  return at::empty({wire_size(format, values.numel())},
                   at::dtype(wire_type(format, values.scalar_type())));
}

TEST(WireFormat, RoundsWhatIsRoundedToTheSameBits) {
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8})
    for (const at::ScalarType type : {at::kFloat, at::kDouble})
      for (const double size : {1e-30, 1e-3, 1.0, 1e20}) {
        at::manual_seed(3);
        const at::Tensor values = at::randn({3 * kInt8Block + 5}, type) * size;
        const at::Tensor message = message_for(format, values);
        encode(format, message, values, {});
        const at::Tensor first = values.clone();
        const at::Tensor again = message_for(format, values);
        encode(format, again, values, {});
        EXPECT_TRUE(at::equal(values, first));
        EXPECT_TRUE(at::equal(message, again));
      }
}

TEST(WireFormat, GivesTheReceiverTheNumbersOfTheSenderAndTheSenderTheErrors) {
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8}) {
    const at::Tensor values = at::linspace(-3, 5, 10'000, at::kDouble);
    const at::Tensor sent = values.clone();
    const at::Tensor errors = at::ones_like(values);
    const at::Tensor message = message_for(format, values);
    encode(format, message, sent, {errors});
    EXPECT_TRUE(at::allclose(sent + errors - 1, values, 0, 1e-15));
    const at::Tensor given = values.clone();
    encode(format, message, values.clone(), {given, -1});
    EXPECT_TRUE(at::allclose(given, sent, 0, 1e-15));
    const at::Tensor received = at::zeros_like(values);
    decode(format, received, message);
    EXPECT_TRUE(at::equal(received, sent));
    add_decoded(format, received, message);
    EXPECT_TRUE(at::equal(received, 2 * sent));
  }
}

TEST(WireFormat, LosesHalfAStepOfEachBlockAtMost) {
  at::manual_seed(1);
  at::Tensor values = at::randn({2 * kInt8Block}, at::kFloat);
  values.narrow(0, 0, kInt8Block).mul_(1000);  // The other block keeps its own fine scale.
  const at::Tensor rounded = values.clone();
  encode(WireFormat::int8, message_for(WireFormat::int8, values), rounded, {});
  for (int block = 0; block < 2; ++block) {
    const at::Tensor of = values.narrow(0, block * kInt8Block, kInt8Block);
    const double step = of.abs().max().item<double>() / 127;
    const at::Tensor lost = of - rounded.narrow(0, block * kInt8Block, kInt8Block);
    EXPECT_LT(lost.abs().max().item<double>(), 0.5001 * step);
  }
}

TEST(WireFormat, SendsNothingAsNothingAndShowsWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {infinity, -infinity, std::nanf("")}) {
    const at::Tensor values = at::zeros({2 * kInt8Block}, at::kFloat);
    values[5] = odd;
    const at::Tensor message = message_for(WireFormat::int8, values);
    const at::Tensor errors = at::zeros_like(values);
    encode(WireFormat::int8, message, values, {errors});
    EXPECT_TRUE(at::equal(errors, at::zeros_like(values))) << "it must not last";
    const at::Tensor received = at::ones_like(values);
    decode(WireFormat::int8, received, message);
    EXPECT_TRUE(received.narrow(0, 0, kInt8Block).isnan().all().item<bool>());
    EXPECT_TRUE(at::equal(received.narrow(0, kInt8Block, kInt8Block), at::zeros({kInt8Block})));
  }
}

}  // namespace
}  // namespace huddle
