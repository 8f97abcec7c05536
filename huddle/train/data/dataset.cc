#include "huddle/train/data/dataset.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/train/data/idx.h"

namespace huddle {

// Generated from data/ by cmake/embed.cmake.
std::span<const std::uint8_t> digits_images();
std::span<const std::uint8_t> digits_labels();

namespace {

constexpr int kClasses = 10;  // Of every set here.
constexpr std::int64_t kDigitsForTraining = 1437;
constexpr Random::Seed kDigitsSeed =
    1797;  // Fixed, so that accuracies on the digits can be compared between any two runs.

constexpr Random::Seed kHoldoutSeed = 10;  // Likewise: all runs are judged by the same samples.

// A random `count` of the samples, and the others.
std::pair<Dataset, Dataset> divided(const Dataset& all, std::int64_t count, Random::Seed seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(all.size()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Random(seed).shuffle(order);
  const at::Tensor drawn = at::tensor(order, at::kLong);
  const auto part = [&](std::int64_t begin, std::int64_t length) {
    const at::Tensor samples = drawn.narrow(0, begin, length);
    return Dataset{.images = all.images.index_select(0, samples),
                   .labels = all.labels.index_select(0, samples)};
  };
  return {part(0, count), part(count, all.size() - count)};
}

// The value that each byte stands for, so that the bytes of `images` have mean 0 and standard
// deviation 1.
at::Tensor standardised_bytes(const at::Tensor& images) {
  // Whole numbers until the end: sums of bytes are exact, whatever their order.
  const at::Tensor bytes = at::arange(256);
  const at::Tensor times = at::bincount(images.flatten(), {}, bytes.numel());
  const double count = static_cast<double>(images.numel());
  const double mean = (times * bytes).sum().item<double>() / count;
  const double variance = (times * bytes.square()).sum().item<double>() / count - mean * mean;
  const double deviation =
      variance > 0 ? std::sqrt(variance) : 1;  // A set of equal pixels has nothing to scale.
  return ((bytes.to(at::kDouble) - mean) / deviation).to(at::kFloat);
}

// Samples as files hold them: bytes, count x height x width, and count.
using RawSamples = Dataset;

struct RawData {
  RawSamples train;
  RawSamples test;
};

// In the form that a run takes: floats, one channel.
Dataset standardised(const RawSamples& raw, const at::Tensor& value_of_byte) {
  Dataset dataset{
      .images = at::empty({raw.size(), 1, raw.images.size(1), raw.images.size(2)}, at::kFloat),
      .labels = raw.labels.to(at::kLong)};
  const auto* const bytes = raw.images.const_data_ptr<std::uint8_t>();
  std::transform(
      bytes, bytes + raw.images.numel(), dataset.images.mutable_data_ptr<float>(),
      [value = value_of_byte.const_data_ptr<float>()](std::uint8_t byte) { return value[byte]; });
  return dataset;
}

RawSamples raw_samples(const IdxArray& images, const IdxArray& labels) {
  require_pair(images, labels);
  if (const int largest = labels.values.max().item<int>(); largest >= kClasses)
    throw idx_error(labels.origin,
                    concat("holds the label ", largest, "; labels are 0 to ", kClasses - 1));
  return {.images = images.values, .labels = labels.values};
}

RawData raw_digits() {
  const RawSamples all =
      raw_samples(parse_idx({.name = "the built-in digit images", .way_out = ""}, digits_images()),
                  parse_idx({.name = "the built-in digit labels", .way_out = ""}, digits_labels()));
  check(all.size() > kDigitsForTraining, "the built-in digits are incomplete");
  const auto [train, test] = divided(all, kDigitsForTraining, kDigitsSeed);
  return {.train = train, .test = test};
}

RawData raw_files(std::string_view name, const std::filesystem::path& directory) {
  const std::filesystem::path folder = directory / name;
  const std::string way_out =
      concat("run: python3 tools/fetch_data.py ", name, " --to ", directory);
  const auto part = [&](const std::string& prefix) {
    return raw_samples(read_idx(folder / (prefix + "-images-idx3-ubyte"), way_out),
                       read_idx(folder / (prefix + "-labels-idx1-ubyte"), way_out));
  };
  const RawData raw{.train = part("train"), .test = part("t10k")};
  if (raw.train.images.sizes().slice(1) != raw.test.images.sizes().slice(1))
    throw UsageError(
        concat(folder.string(), ": training and test images differ in height or width; ", way_out));
  return raw;
}

}  // namespace

std::vector<SpecInfo> known_data() {
  const KeyInfo dimension{.name = "dimension",
                          .type = KeyInfo::Type::integer,
                          .fallback = "100",
                          .help = "number of parameters",
                          .minimum = 1,
                          .maximum = 1e9};
  const KeyInfo noise{.name = "noise",
                      .type = KeyInfo::Type::number,
                      .fallback = "0.1",
                      .help = "standard deviation of the noise on each gradient entry"};
  const KeyInfo spread{.name = "spread",
                       .type = KeyInfo::Type::number,
                       .fallback = "1",
                       .help = "standard deviation of the workers' optima around the common one"};
  return {
      {.name = "digits", .summary = "1,797 handwritten digits of 8 x 8 pixels, built in"},
      {.name = "mnist",
       .summary = "70,000 handwritten digits of 28 x 28 pixels (tools/fetch_data.py)"},
      {.name = "fashion_mnist",
       .summary = "70,000 pieces of clothing of 28 x 28 pixels (tools/fetch_data.py)"},
      {.name = "quadratic",
       .summary = "a noisy quadratic per worker, in closed form: no data",
       .keys = {dimension, noise, spread}},
  };
}

ImageData load_data(std::string_view name, const std::filesystem::path& directory) {
  find_info("data set", known_data(), name);
  check(name != "quadratic", "quadratic is a closed form and has no data to load");
  const RawData raw = name == "digits" ? raw_digits() : raw_files(name, directory);
  const at::Tensor value_of_byte = standardised_bytes(raw.train.images);
  return {.train = standardised(raw.train, value_of_byte),
          .test = standardised(raw.test, value_of_byte),
          .classes = kClasses};
}

ImageData held_out(const ImageData& data, double share) {
  check(share > 0 && share < 1, "a share that is held out lies between 0 and 1");
  const auto count = static_cast<std::int64_t>(share * static_cast<double>(data.train.size()));
  if (count == 0)
    throw UsageError(concat("--holdout ", share, " leaves nothing of ", data.train.size(),
                            " samples to judge by; give for example --holdout 0.1."));
  const auto [test, train] = divided(data.train, count, kHoldoutSeed);
  return {.train = train, .test = test, .classes = data.classes};
}

std::vector<int> label_values(const Dataset& dataset) {
  const std::span<const std::int64_t> labels(dataset.labels.const_data_ptr<std::int64_t>(),
                                             static_cast<std::size_t>(dataset.size()));
  return {labels.begin(), labels.end()};
}

}  // namespace huddle
