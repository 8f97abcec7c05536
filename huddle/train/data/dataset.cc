#include "huddle/train/data/dataset.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
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
constexpr std::size_t kDigitsForTraining = 1437;
constexpr Random::Seed kDigitsSeed =
    1797;  // Fixed, so that accuracies on the digits can be compared between any two runs.

constexpr Random::Seed kHoldoutSeed = 10;  // Likewise: all runs are judged by the same samples.

// Raw samples of both parts, before they are standardised.
struct RawData {
  LabelledImages train;
  LabelledImages test;
};

// The value that each byte stands for, so that the bytes of `images` have mean 0 and standard
// deviation 1.
std::array<float, 256> standardised_bytes(const IdxArray& images) {
  // Whole numbers until the end: sums of bytes are exact, whatever their order.
  std::int64_t sum = 0;
  std::int64_t sum_of_squares = 0;
  for (const std::int64_t value : images.values) {
    sum += value;
    sum_of_squares += value * value;
  }
  const double count = static_cast<double>(images.values.size());
  const double mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(sum_of_squares) / count - mean * mean;
  const double deviation =
      variance > 0 ? std::sqrt(variance) : 1;  // A set of equal pixels has nothing to scale.
  std::array<float, 256> values{};
  for (std::size_t byte = 0; byte < values.size(); ++byte)
    values[byte] = static_cast<float>((static_cast<double>(byte) - mean) / deviation);
  return values;
}

Dataset to_dataset(const LabelledImages& raw, const std::array<float, 256>& value_of_byte) {
  const std::vector<std::int64_t>& sizes = raw.images.sizes;
  Dataset dataset{.images = at::empty({sizes[0], 1, sizes[1], sizes[2]}, at::kFloat),
                  .labels = at::empty({sizes[0]}, at::kLong)};
  std::transform(raw.images.values.begin(), raw.images.values.end(),
                 dataset.images.mutable_data_ptr<float>(),
                 [&](std::uint8_t byte) { return value_of_byte[byte]; });
  std::copy(raw.labels.values.begin(), raw.labels.values.end(),
            dataset.labels.mutable_data_ptr<std::int64_t>());
  return dataset;
}

void check_labels(const IdxArray& labels) {
  const int largest = *std::max_element(labels.values.begin(), labels.values.end());
  if (largest >= kClasses)
    throw UsageError(concat(labels.origin.name, ": holds the label ", largest, "; labels are 0 to ",
                            kClasses - 1, labels.origin.way_out.empty() ? "." : "; ",
                            labels.origin.way_out));
}

LabelledImages selected(const LabelledImages& from, std::span<const std::size_t> samples) {
  const std::size_t pixels = static_cast<std::size_t>(from.images.sizes[1] * from.images.sizes[2]);
  LabelledImages to{
      .images = {.origin = from.images.origin, .sizes = from.images.sizes, .values = {}},
      .labels = {.origin = from.labels.origin, .sizes = from.labels.sizes, .values = {}}};
  to.images.sizes[0] = to.labels.sizes[0] = static_cast<std::int64_t>(samples.size());
  for (const std::size_t sample : samples) {
    const auto first = from.images.values.begin() + static_cast<std::ptrdiff_t>(sample * pixels);
    to.images.values.insert(to.images.values.end(), first,
                            first + static_cast<std::ptrdiff_t>(pixels));
    to.labels.values.push_back(from.labels.values[sample]);
  }
  return to;
}

RawData raw_digits() {
  const LabelledImages all =
      pair_up(parse_idx({.name = "the built-in digit images", .way_out = ""}, digits_images()),
              parse_idx({.name = "the built-in digit labels", .way_out = ""}, digits_labels()));
  std::vector<std::size_t> order(all.labels.values.size());
  check(order.size() > kDigitsForTraining, "the built-in digits are incomplete");
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(kDigitsSeed).shuffle(order);
  const std::span<const std::size_t> samples(order);
  return {.train = selected(all, samples.first(kDigitsForTraining)),
          .test = selected(all, samples.subspan(kDigitsForTraining))};
}

RawData raw_files(std::string_view name, const std::filesystem::path& directory) {
  const std::filesystem::path folder = directory / name;
  const std::string way_out =
      concat("run: python3 tools/fetch_data.py ", name, " --to ", directory);
  const auto part = [&](const std::string& prefix) {
    return pair_up(read_idx(folder / (prefix + "-images-idx3-ubyte"), way_out),
                   read_idx(folder / (prefix + "-labels-idx1-ubyte"), way_out));
  };
  RawData raw{.train = part("train"), .test = part("t10k")};
  const auto shape = [](const LabelledImages& images) {
    return std::pair(images.images.sizes[1], images.images.sizes[2]);
  };
  if (shape(raw.train) != shape(raw.test))
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
                          .maximum = 1e9,
                          .choices = {}};
  const KeyInfo noise{.name = "noise",
                      .type = KeyInfo::Type::number,
                      .fallback = "0.1",
                      .help = "standard deviation of the noise on each gradient entry",
                      .choices = {}};
  const KeyInfo spread{.name = "spread",
                       .type = KeyInfo::Type::number,
                       .fallback = "1",
                       .help = "standard deviation of the workers' optima around the common one",
                       .choices = {}};
  return {
      {.name = "digits",
       .summary = "1,797 handwritten digits of 8 x 8 pixels, built in",
       .keys = {}},
      {.name = "mnist",
       .summary = "70,000 handwritten digits of 28 x 28 pixels (tools/fetch_data.py)",
       .keys = {}},
      {.name = "fashion_mnist",
       .summary = "70,000 pieces of clothing of 28 x 28 pixels (tools/fetch_data.py)",
       .keys = {}},
      {.name = "quadratic",
       .summary = "a noisy quadratic per worker, in closed form: no data",
       .keys = {dimension, noise, spread}},
  };
}

ImageData load_data(std::string_view name, const std::filesystem::path& directory) {
  find_info("data set", known_data(), name);
  check(name != "quadratic", "quadratic is a closed form and has no data to load");
  const RawData raw = name == "digits" ? raw_digits() : raw_files(name, directory);
  check_labels(raw.train.labels);
  check_labels(raw.test.labels);
  const std::array<float, 256> value_of_byte = standardised_bytes(raw.train.images);
  return {.train = to_dataset(raw.train, value_of_byte),
          .test = to_dataset(raw.test, value_of_byte),
          .classes = kClasses};
}

ImageData held_out(const ImageData& data, double share) {
  check(share > 0 && share < 1, "a share that is held out lies between 0 and 1");
  std::vector<std::int64_t> order(static_cast<std::size_t>(data.train.size()));
  const auto count = static_cast<std::int64_t>(share * static_cast<double>(order.size()));
  if (count == 0)
    throw UsageError(concat("--holdout ", share, " leaves nothing of ", order.size(),
                            " samples to judge by; give for example --holdout 0.1."));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Random(kHoldoutSeed).shuffle(order);
  const at::Tensor drawn = at::tensor(order, at::kLong);
  const auto part = [&](std::int64_t begin, std::int64_t length) {
    const at::Tensor samples = drawn.narrow(0, begin, length);
    return Dataset{.images = data.train.images.index_select(0, samples),
                   .labels = data.train.labels.index_select(0, samples)};
  };
  return {.train = part(count, data.train.size() - count),
          .test = part(0, count),
          .classes = data.classes};
}

std::vector<int> label_values(const Dataset& dataset) {
  const std::span<const std::int64_t> labels(dataset.labels.const_data_ptr<std::int64_t>(),
                                             static_cast<std::size_t>(dataset.size()));
  return {labels.begin(), labels.end()};
}

}  // namespace huddle
