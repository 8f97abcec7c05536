// The data sets that Huddle can train on, as tensors in memory.
//
// `digits` is built into the program; `mnist` and `fashion_mnist` are IDX files that
// tools/fetch_data.py brings. Every worker holds the whole set (the largest takes 220 MB); which
// samples it trains on is the Sampler's business.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "huddle/base/spec.h"

namespace huddle {

// Images with the class that each of them shows.
struct Dataset {
  at::Tensor images;  // float32, count x 1 x height x width, standardised (see ImageData).
  at::Tensor labels;  // int64, count.

  std::int64_t size() const { return labels.size(0); }
};

// What a run needs of a data set. Both parts are shifted and scaled by the same two constants,
// chosen so that the pixels of the training part have mean 0 and standard deviation 1.
struct ImageData {
  Dataset train;
  Dataset test;
  int classes = 0;
};

// Every data set by name, for validation and help. `quadratic` is among them although it has no
// samples.
std::vector<SpecInfo> known_data();

// Loads `name`; files are looked for in `directory`/`name` (`digits` needs none). The digits are
// always divided in the same way: 1,437 for training, 360 for testing. Throws UsageError on an
// unknown name and on missing or damaged files. REQUIRES: name is not "quadratic", which is a
// closed form and not loaded.
ImageData load_data(std::string_view name, const std::filesystem::path& directory);

// `data` with a share of its training samples, which nobody trains on then, in place of the test
// samples: what settings are chosen by, so that the test samples judge them unseen. Which samples
// depends on their number alone. Throws UsageError where one of the two parts would be empty.
// REQUIRES: 0 < share < 1.
ImageData held_out(const ImageData& data, double share);

// The labels as plain numbers, as deal_out and Sampler take them.
std::vector<int> label_values(const Dataset& dataset);

}  // namespace huddle
