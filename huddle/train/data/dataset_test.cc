#include "huddle/train/data/dataset.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/train/data/idx.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes idx_bytes(const std::vector<std::uint32_t>& sizes, const Bytes& values) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (const int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

std::string parse_refusal(const Bytes& bytes) {
  return refusal([&] { parse_idx({.name = "the file", .way_out = "fetch it"}, bytes); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A folder of its own for each test, removed afterwards; filled with a tiny but complete set.
class LoadData : public testing::Test {
 protected:
  LoadData() {
    write("train-images-idx3-ubyte", idx_bytes({2, 2, 2}, {0, 10, 20, 30, 40, 50, 60, 70}));
    write("train-labels-idx1-ubyte", idx_bytes({2}, {3, 9}));
    write("t10k-images-idx3-ubyte", idx_bytes({1, 2, 2}, {35, 35, 35, 255}));
    write("t10k-labels-idx1-ubyte", idx_bytes({1}, {0}));
  }

  void write(const std::string& name, const Bytes& bytes) const {
    scratch_.write(std::filesystem::path("mnist") / name,
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  std::string load_refusal() const {
    return refusal([&] { load_data("mnist", root_); });
  }

  const ScratchFolder scratch_;
  const std::filesystem::path& root_ = scratch_.path();
};

TEST(ParseIdx, ReadsOneAndThreeDimensions) {
  const IdxArray images =
      parse_idx({.name = "images", .way_out = ""}, idx_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(images.values.sizes(), (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_TRUE(images.values.flatten().equal(at::tensor(Bytes{1, 2, 3, 4, 5, 255}, at::kByte)));
  const IdxArray labels =
      parse_idx({.name = "labels", .way_out = ""}, idx_bytes({300}, Bytes(300, 7)));
  EXPECT_EQ(labels.values.sizes(), (std::vector<std::int64_t>{300}));
}

TEST(ParseIdx, NamesTheFileAndTheWayOut) {
  const std::string message = parse_refusal({0, 0, 8});
  EXPECT_TRUE(contains(message, "the file: truncated: 3 bytes")) << message;
  EXPECT_TRUE(contains(message, "; fetch it")) << message;
}

TEST(ParseIdx, RefusesAnyTruncation) {
  const Bytes whole = idx_bytes({2, 2, 2}, Bytes(8, 1));
  ASSERT_EQ(parse_refusal(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string message =
        parse_refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_TRUE(contains(message, "truncated")) << size << ": " << message;
  }
}

TEST(ParseIdx, RefusesSurplusBytesZeroSizesAndSizesThatOverflow) {
  EXPECT_TRUE(
      contains(parse_refusal(idx_bytes({2}, {1, 2, 3})), "3 values, but its header announces 2"));
  EXPECT_TRUE(contains(parse_refusal(idx_bytes({0}, {})), "sizes is 0"));
  EXPECT_TRUE(contains(parse_refusal(idx_bytes({0x80000000, 0x80000000, 4}, {})), "truncated"));
}

TEST(ParseIdx, RefusesAWrongMagicNumber) {
  EXPECT_TRUE(contains(parse_refusal({0x1F, 0x8B, 8, 0, 0, 0, 0, 0}),
                       "not an IDX file"));  // Still gzipped.
  EXPECT_TRUE(
      contains(parse_refusal(idx_bytes({1, 1}, {1})), "begins with 2050 instead of 2049 or 2051"));
  EXPECT_TRUE(contains(parse_refusal({0, 0, 0x0D, 1, 0, 0, 0, 0}), "not an IDX file"));  // Floats.
}

TEST(RequirePair, RefusesSwappedFiles) {
  const IdxArray images = parse_idx({.name = "images", .way_out = ""}, idx_bytes({1, 1, 1}, {1}));
  const IdxArray labels = parse_idx({.name = "labels", .way_out = ""}, idx_bytes({1}, {1}));
  EXPECT_EQ(refusal([&] { require_pair(images, labels); }), "");
  EXPECT_EQ(refusal([&] { require_pair(labels, labels); }),
            "labels: holds labels where images are expected.");
  EXPECT_EQ(refusal([&] { require_pair(images, images); }),
            "images: holds images where labels are expected.");
}

TEST_F(LoadData, StandardisesBothPartsByTheTrainingPart) {
  const ImageData data = load_data("mnist", root_);
  EXPECT_EQ(data.train.images.sizes(), (std::vector<std::int64_t>{2, 1, 2, 2}));
  EXPECT_EQ(data.test.images.sizes(), (std::vector<std::int64_t>{1, 1, 2, 2}));
  EXPECT_EQ(data.train.images.scalar_type(), at::kFloat);
  EXPECT_EQ(data.train.labels.scalar_type(), at::kLong);
  // The training bytes have mean 35 and variance 525.
  const float deviation = std::sqrt(525.0f);
  EXPECT_NEAR(data.train.images[0][0][0][1].item<float>(), -25 / deviation, 1e-6);
  EXPECT_NEAR(data.train.images[1][0][1][1].item<float>(), 35 / deviation, 1e-6);
  EXPECT_EQ(data.test.images[0][0][0][0].item<float>(), 0);
  EXPECT_NEAR(data.test.images[0][0][1][1].item<float>(), 220 / deviation, 1e-5);
  EXPECT_EQ(label_values(data.train), (std::vector<int>{3, 9}));
  EXPECT_EQ(data.classes, 10);
}

TEST_F(LoadData, SaysHowToBringAMissingFile) {
  std::filesystem::remove(root_ / "mnist" / "t10k-labels-idx1-ubyte");
  EXPECT_TRUE(contains(load_refusal(), "t10k-labels-idx1-ubyte': there is no such file"))
      << load_refusal();
  EXPECT_TRUE(contains(load_refusal(), "run: python3 tools/fetch_data.py mnist")) << load_refusal();
  EXPECT_TRUE(contains(refusal([&] { load_data("fashion_mnist", root_); }),
                       "run: python3 tools/fetch_data.py fashion_mnist"));
}

TEST_F(LoadData, RefusesATruncatedFile) {
  write("train-images-idx3-ubyte", idx_bytes({2, 2, 2}, Bytes(7, 1)));
  EXPECT_TRUE(contains(load_refusal(), "train-images-idx3-ubyte: truncated")) << load_refusal();
}

TEST_F(LoadData, RefusesCountsThatDisagree) {
  write("train-labels-idx1-ubyte", idx_bytes({3}, {1, 2, 3}));
  EXPECT_TRUE(contains(load_refusal(), "train-labels-idx1-ubyte: 3 labels for the 2 images of"))
      << load_refusal();
}

TEST_F(LoadData, RefusesALabelOutsideTheClasses) {
  write("t10k-labels-idx1-ubyte", idx_bytes({1}, {10}));
  EXPECT_TRUE(contains(load_refusal(),
                       "t10k-labels-idx1-ubyte: holds the label 10; labels are 0 to 9; run:"))
      << load_refusal();
}

TEST_F(LoadData, RefusesPartsOfDifferentShape) {
  write("t10k-images-idx3-ubyte", idx_bytes({1, 4, 1}, Bytes(4, 1)));
  EXPECT_TRUE(contains(load_refusal(), "differ in height or width")) << load_refusal();
}

TEST_F(LoadData, KeepsEqualPixelsFinite) {
  write("train-images-idx3-ubyte", idx_bytes({2, 2, 2}, Bytes(8, 5)));
  EXPECT_TRUE(at::isfinite(load_data("mnist", root_).train.images).all().item<bool>());
}

TEST(Digits, AreDividedInOneFixedWay) {
  const ImageData data = load_data("digits", "no such folder");
  EXPECT_EQ(data.train.images.sizes(), (std::vector<std::int64_t>{1437, 1, 8, 8}));
  EXPECT_EQ(data.test.images.sizes(), (std::vector<std::int64_t>{360, 1, 8, 8}));
  const ImageData again = load_data("digits", "");
  EXPECT_TRUE(at::equal(data.train.images, again.train.images));
  EXPECT_TRUE(at::equal(data.test.labels, again.test.labels));
  const std::vector<int> labels = label_values(data.test);
  EXPECT_EQ(std::vector<int>(labels.begin(), labels.begin() + 12),
            (std::vector<int>{1, 9, 3, 5, 5, 7, 1, 3, 9, 5, 4, 5}));
}

TEST(Digits, AreStandardised) {
  const at::Tensor pixels = load_data("digits", "").train.images.to(at::kDouble);
  EXPECT_NEAR(pixels.mean().item<double>(), 0, 1e-6);
  EXPECT_NEAR(pixels.square().mean().item<double>(), 1, 1e-6);
}

TEST(Digits, KeepTheSourcesCountOfEachClass) {
  const ImageData data = load_data("digits", "");
  std::vector<int> counts(10);
  for (const Dataset* part : {&data.train, &data.test})
    for (const int label : label_values(*part)) ++counts[static_cast<std::size_t>(label)];
  EXPECT_EQ(counts, (std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
}

TEST(Digits, AreRecognisedByTheirNearestNeighbour) {
  // Images that lost their labels in the shuffle would be recognised one time in ten.
  const ImageData data = load_data("digits", "");
  const at::Tensor nearest =
      at::cdist(data.test.images.flatten(1), data.train.images.flatten(1)).argmin(1);
  const at::Tensor right = data.train.labels.index_select(0, nearest).eq(data.test.labels);
  EXPECT_GT(right.to(at::kFloat).mean().item<double>(), 0.95);
}

TEST(HeldOut, TakesTrainingSamplesInPlaceOfTheTestSamples) {
  const ImageData data = load_data("digits", "");
  const ImageData held = held_out(data, 0.1);
  EXPECT_EQ(held.test.size(), 143);
  EXPECT_EQ(held.train.size(), data.train.size() - 143);
  EXPECT_EQ(held.classes, data.classes);
  // Together the two parts are the training samples, each once: sums of all pixels agree.
  const at::Tensor both = at::cat({held.train.images, held.test.images}).to(at::kDouble);
  EXPECT_NEAR((both.sum() - data.train.images.to(at::kDouble).sum()).item<double>(), 0, 1e-6);
  EXPECT_NEAR(
      (both.square().sum() - data.train.images.to(at::kDouble).square().sum()).item<double>(), 0,
      1e-6);
  // Images keep their labels, and nobody trains on what is judged.
  const at::Tensor distance =
      at::cdist(held.test.images.flatten(1), data.train.images.flatten(1)).to(at::kDouble);
  const at::Tensor labels = data.train.labels.index_select(0, distance.argmin(1));
  EXPECT_TRUE(at::equal(labels, held.test.labels));
  EXPECT_GT(
      at::cdist(held.test.images.flatten(1), held.train.images.flatten(1)).min().item<double>(), 0);
}

TEST(HeldOut, IsTheSameForEverybodyAndNeverEmpty) {
  const ImageData data = load_data("digits", "");
  EXPECT_TRUE(at::equal(held_out(data, 0.2).test.images, held_out(data, 0.2).test.images));
  EXPECT_TRUE(
      contains(refusal([&] { held_out(data, 1e-6); }), "nothing of 1437 samples to judge by"));
}

TEST(KnownData, RefusesUnknownNamesWithTheNearest) {
  const std::string message = refusal([] { load_data("digit", ""); });
  EXPECT_TRUE(contains(message, "unknown data set 'digit'; did you mean 'digits'?")) << message;
}

TEST(KnownData, ListsTheQuadraticWithItsKeysButDoesNotLoadIt) {
  const std::vector<SpecInfo> known = known_data();
  const SpecInfo& quadratic = find_info("data set", known, "quadratic");
  const Options options("data set", quadratic, parse_spec("quadratic:dimension=7,noise=0"));
  EXPECT_EQ(options.integer("dimension"), 7);
  EXPECT_EQ(options.number("noise"), 0);
  EXPECT_GT(options.number("spread"), 0);
  EXPECT_THROW(load_data("quadratic", ""), LogicError);
}

}  // namespace
}  // namespace huddle
