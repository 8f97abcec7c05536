#include "huddle/train/checkpoint.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>

#include "huddle/core/error.h"
#include "tests/scratch_folder.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

class Checkpoint : public testing::Test {
 protected:
  const ScratchFolder scratch_;
  const fs::path& folder_ = scratch_.path();
};

TEST_F(Checkpoint, TensorsComeBackAsTheyWere) {
  const NamedTensors tensors{
      {"a", torch::randn({3, 4})}, {"b/c", torch::arange(5)}, {"empty", torch::empty({0})}};
  save_tensors(folder_ / "file.pt", tensors);
  const NamedTensors loaded = load_tensors(folder_ / "file.pt");
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors)
    EXPECT_TRUE(torch::equal(loaded.at(name), tensor)) << name;
}

TEST_F(Checkpoint, RefusesMissingAndTruncatedFilesByName) {
  EXPECT_THROW(load_tensors(folder_ / "none.pt"), UsageError);
  save_tensors(folder_ / "file.pt", {{"a", torch::randn({100})}});
  for (const std::uintmax_t size :
       {std::uintmax_t{0}, std::uintmax_t{10}, fs::file_size(folder_ / "file.pt") / 2}) {
    fs::resize_file(folder_ / "file.pt", size);
    EXPECT_THROW(load_tensors(folder_ / "file.pt"), UsageError) << size;
  }
  std::ofstream(folder_ / "checkpoint.json") << "{\"step\": 3";
  EXPECT_THROW(CheckpointFolder(folder_).load_info(), UsageError);
}

TEST_F(Checkpoint, NamesTheNewestWholeStateAndRemovesOlderOnes) {
  const CheckpointFolder checkpoint(folder_);
  for (const std::int64_t step : {10, 20}) {
    for (int worker = 0; worker < 2; ++worker)
      checkpoint.save_worker(step, WorkerId{worker}, {{"x", torch::full({1}, step)}});
    if (step == 20) {
      EXPECT_EQ(checkpoint.load_info().step, 10) << "nothing is committed before all have written";
    }
    checkpoint.commit({step, 2, {{"--seed", "7"}}});
  }
  const CheckpointInfo info = checkpoint.load_info();
  EXPECT_EQ(info.step, 20);
  EXPECT_EQ(info.workers, 2);
  EXPECT_EQ(info.settings.at("--seed"), "7");
  EXPECT_EQ(checkpoint.load_worker(20, WorkerId{1}).at("x").item<int>(), 20);
  EXPECT_FALSE(fs::exists(folder_ / "step-000010"));
}

TEST_F(Checkpoint, StaysWholeUntilTheNextIsCommitted) {
  const CheckpointFolder checkpoint(folder_);
  checkpoint.save_worker(10, WorkerId{0}, {{"x", torch::full({1}, 10)}});
  checkpoint.commit({10, 1, {}});
  EXPECT_THROW(checkpoint.prepare(), UsageError);
  checkpoint.prepare(CheckpointFolder::Older::replace);
  checkpoint.save_worker(20, WorkerId{0}, {{"x", torch::full({1}, 20)}});
  EXPECT_EQ(checkpoint.load_info().step, 10) << "a run that goes on from it may be interrupted";
  EXPECT_EQ(checkpoint.load_worker(10, WorkerId{0}).at("x").item<int>(), 10);
}

TEST_F(Checkpoint, LeavesTheNextOneToThoseWhoWriteIt) {
  const CheckpointFolder checkpoint(folder_);
  checkpoint.save_worker(10, WorkerId{0}, {{"x", torch::full({1}, 10)}});
  checkpoint.save_worker(20, WorkerId{1}, {{"x", torch::full({1}, 20)}});
  checkpoint.commit({10, 1, {}});
  EXPECT_TRUE(fs::exists(folder_ / "step-000020" / "worker-1.pt"));
  EXPECT_TRUE(fs::exists(folder_ / "step-000010" / "worker-0.pt"));
}

TEST_F(Checkpoint, RemovesWhatAKilledRunLeftUnfinishedAndNothingElse) {
  const CheckpointFolder checkpoint(folder_);
  for (const std::int64_t step : {10, 20})
    checkpoint.save_worker(step, WorkerId{0}, {{"x", torch::full({1}, step)}});
  checkpoint.commit({20, 1, {}});
  checkpoint.save_worker(30, WorkerId{0}, {{"x", torch::full({1}, 30)}});
  fs::create_directories(folder_ / "step-by-step");
  checkpoint.prepare(CheckpointFolder::Older::replace);
  EXPECT_TRUE(fs::exists(folder_ / "step-000020" / "worker-0.pt"));
  EXPECT_FALSE(fs::exists(folder_ / "step-000030"));
  EXPECT_TRUE(fs::exists(folder_ / "step-by-step"));
}

TEST_F(Checkpoint, RefusesAFolderThatCannotBeWritten) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(CheckpointFolder(folder_ / "file" / "sub").prepare(), UsageError);
}

}  // namespace
}  // namespace huddle
