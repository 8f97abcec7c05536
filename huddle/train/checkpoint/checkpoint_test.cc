#include "huddle/train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

class Checkpoint : public testing::Test {
 protected:
  // What the workers write; worker w's state is step + w, their mean step.
  CheckpointInfo write(std::int64_t step, int workers) const {
    CheckpointInfo info{.step = step, .settings = {{"--seed", "7"}}, .settled = "bsp"};
    for (int worker = 0; worker < workers; ++worker)
      info.workers.push_back(hex_of(checkpoint_.save_worker(
          step, WorkerId{worker}, {{"x", torch::full({1}, step + worker)}})));
    info.consensus = hex_of(checkpoint_.save_consensus(step, {{"x", torch::full({1}, step)}}));
    info.folder = step_folder_names(step)[0];
    return info;
  }
  void save(std::int64_t step, int workers) const { checkpoint_.commit(write(step, workers)); }

  static void flip_a_bit(const fs::path& path) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(fs::file_size(path)) / 2);
    const auto byte = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path)) / 2);
    file.put(byte);
  }

  const ScratchFolder scratch_;
  const fs::path& folder_ = scratch_.path();
  const CheckpointFolder checkpoint_{folder_};
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
  save(10, 2);
  CheckpointInfo next = write(20, 2);
  EXPECT_EQ(checkpoint_.load_info().step, 10) << "nothing is committed before all have written";
  next.settings = {{"--seed", "7"}};
  checkpoint_.commit(next);
  const CheckpointInfo info = checkpoint_.load_info();
  EXPECT_EQ(info.step, 20);
  EXPECT_EQ(info.workers.size(), 2u);
  EXPECT_EQ(info.settings.at("--seed"), "7");
  EXPECT_EQ(info.settled, "bsp");
  EXPECT_EQ(checkpoint_.load_worker(info, WorkerId{1}).at("x").item<int>(), 21);
  EXPECT_EQ(load_tensors(folder_ / "consensus.pt").at("x").item<int>(), 20);
  EXPECT_FALSE(fs::exists(folder_ / "step-000010"));
}

TEST_F(Checkpoint, StaysWholeUntilTheNextIsCommitted) {
  save(10, 1);
  checkpoint_.prepare();
  write(20, 1);
  const CheckpointInfo info = checkpoint_.load_info();
  EXPECT_EQ(info.step, 10) << "a run that goes on from it may be interrupted";
  checkpoint_.verify(info);
  EXPECT_EQ(checkpoint_.load_worker(info, WorkerId{0}).at("x").item<int>(), 10);
}

TEST_F(Checkpoint, WorkersDoNotEachReadWhatAllHaveSaved) {
  save(10, 2);
  checkpoint_.prepare();
  std::ofstream(folder_ / "checkpoint.json") << "not to be read";
  EXPECT_NO_THROW(checkpoint_.save_worker(20, WorkerId{0}, {{"x", torch::full({1}, 1)}}));
}

TEST_F(Checkpoint, StaysWholeWhileAnotherOfTheSameStepIsWritten) {
  save(10, 2);
  for (int time = 0; time < 3; ++time) {
    checkpoint_.prepare();
    checkpoint_.save_worker(10, WorkerId{0}, {{"x", torch::full({1}, -1)}});
    checkpoint_.verify(checkpoint_.load_info());  // Or the power fails here.
    checkpoint_.discard(10);
    checkpoint_.verify(checkpoint_.load_info());
    save(10, 2);
    const CheckpointInfo info = checkpoint_.load_info();
    checkpoint_.verify(info);
    EXPECT_EQ(checkpoint_.load_worker(info, WorkerId{1}).at("x").item<int>(), 11);
    const auto folders = std::distance(fs::directory_iterator(folder_), {});
    EXPECT_EQ(folders, 3) << "checkpoint.json, consensus.pt and one folder";
  }
}

TEST_F(Checkpoint, LeavesNothingOfALongerRunThatItReplaces) {
  save(30, 1);
  checkpoint_.prepare();
  save(10, 1);
  EXPECT_FALSE(fs::exists(folder_ / "step-000030"));
  checkpoint_.verify(checkpoint_.load_info());
}

TEST_F(Checkpoint, IsWholeAsSoonAsItIsNamed) {
  save(10, 1);
  const CheckpointInfo next = write(20, 1);
  std::ofstream(folder_ / "checkpoint.json") << to_text(next);  // And then the power failed.
  checkpoint_.verify(checkpoint_.load_info());
}

TEST_F(Checkpoint, LeavesTheNextOneToThoseWhoWriteIt) {
  const CheckpointInfo info = write(10, 1);
  write(20, 2);
  checkpoint_.commit(info);
  EXPECT_TRUE(fs::exists(folder_ / "step-000020" / "worker-1.pt"));
  EXPECT_TRUE(fs::exists(folder_ / "step-000010" / "worker-0.pt"));
}

TEST_F(Checkpoint, RemovesWhatAKilledRunLeftUnfinishedAndNothingElse) {
  save(20, 1);
  write(30, 1);
  fs::create_directories(folder_ / "step-by-step");
  checkpoint_.prepare();
  EXPECT_TRUE(fs::exists(folder_ / "step-000020" / "worker-0.pt"));
  EXPECT_FALSE(fs::exists(folder_ / "step-000030"));
  EXPECT_TRUE(fs::exists(folder_ / "step-by-step"));
}

TEST_F(Checkpoint, RefusesFilesThatAreNotThoseThatWereSaved) {
  save(10, 3);
  CheckpointInfo info = checkpoint_.load_info();
  const auto refused = [&](const char* name, const char* way_out) {
    try {
      checkpoint_.verify(info);
      ADD_FAILURE() << name << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(way_out), std::string::npos) << error.what();
    }
  };
  fs::copy_file(folder_ / "step-000010" / "worker-0.pt", folder_ / "step-000010" / "worker-1.pt",
                fs::copy_options::overwrite_existing);
  refused("worker-1.pt", "begin anew");
  EXPECT_THROW(checkpoint_.load_worker(info, WorkerId{1}), UsageError);
  save(20, 3);
  info = checkpoint_.load_info();
  flip_a_bit(folder_ / "step-000020" / "worker-2.pt");
  refused("worker-2.pt", "begin anew");
  fs::remove(folder_ / "step-000020" / "worker-2.pt");
  refused("worker-2.pt", "--save");
  save(30, 3);
  info = checkpoint_.load_info();
  flip_a_bit(folder_ / "consensus.pt");
  refused("consensus.pt", "remove it");
  fs::remove(folder_ / "consensus.pt");
  EXPECT_NO_THROW(checkpoint_.verify(info)) << "it is not needed to go on";
}

TEST_F(Checkpoint, TellsTheFilesOfEqualWorkersApart) {
  const NamedTensors equal{{"x", torch::ones({3})}};
  const Digest first = checkpoint_.save_worker(10, WorkerId{0}, equal);
  EXPECT_NE(checkpoint_.save_worker(10, WorkerId{1}, equal), first);
  EXPECT_NE(checkpoint_.save_worker(20, WorkerId{0}, equal), first);
  EXPECT_EQ(checkpoint_.save_worker(10, WorkerId{0}, equal), first);
}

TEST_F(Checkpoint, StaysWholeWhenOnlyAMeanModelIsSaved) {
  save(10, 1);
  checkpoint_.save_consensus_alone({{"x", torch::full({1}, 33)}});
  EXPECT_EQ(load_tensors(folder_ / "consensus.pt").at("x").item<int>(), 33);
  EXPECT_NO_THROW(checkpoint_.verify(checkpoint_.load_info()));
}

TEST_F(Checkpoint, NamesWhatIsWrongWithItsIndex) {
  save(10, 2);
  const std::string good = to_text(checkpoint_.load_info());
  const auto refused = [&](const std::string& old, const std::string& other,
                           const std::string& word) {
    std::string text = good;
    text.replace(text.find(old), old.size(), other);
    try {
      info_in("checkpoint.json", text);
      ADD_FAILURE() << other << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refused("\"step\": 10", "\"step\": -1", "has step = -1, which must be a whole number");
  refused("\"step\": 10", "\"stop\": 10", "does not say step");
  refused("\"7\"", "7", "has settings.--seed = 7, which must be a text");
  refused("\"files\"", "\"file\"", "does not say files");
  refused("\"format\": 1", "\"format\": 2", "].format = 2, which must be 1");
  refused("\"worker\": 1", "\"worker\": 0", "has file = \"step-000010/worker-1.pt\"");
  refused("\"worker\": 1", "\"worker\": 9", "].worker = 9, which must be less than 3");
  refused("worker-1.pt", "worker-0.pt", "has file = \"step-000010/worker-0.pt\"");
  refused("\"sha256\": \"", "\"sha256\": \"x", "must be 64 hexadecimal digits");
  refused("{", "[", "is truncated or not a checkpoint");
}

TEST_F(Checkpoint, RefusesAFolderThatCannotBeWritten) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(CheckpointFolder(folder_ / "file" / "sub").prepare(), UsageError);
}

}  // namespace
}  // namespace huddle
