// Checkpoints: what a run leaves on disk so that it can go on, and so that others can use the
// model.
//
//   DIR/consensus.pt        the mean model as a dictionary of tensors; `torch.load` reads it
//   DIR/checkpoint.json     what was run, and which files hold the newest whole state
//   DIR/step-000300/        worker-0.pt, worker-1.pt, ...: every worker's state after 300 steps
//
// checkpoint.json is replaced last and at once, so it always names a whole state, whenever the
// power fails. It has the SHA-256 of every file, so that one that was damaged or mistaken for
// another is refused rather than trained on.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "huddle/base/ids.h"
#include "huddle/base/sha256.h"
#include "huddle/train/checkpoint/checkpoint_index.h"

namespace huddle {

using NamedTensors = std::map<std::string, at::Tensor>;

// Writes a file that both `load_tensors` and Python's `torch.load` read; replaces an older one at
// once. Returns the file's SHA-256.
Digest save_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

// Throws UsageError naming the file when it is missing, truncated or something else.
NamedTensors load_tensors(const std::filesystem::path& path);

// One run's checkpoints in one folder.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Makes the folder. Throws UsageError when it cannot be written. A checkpoint that it holds stays
  // whole until the next is committed; whether that may take its place is for the caller to ask.
  // Removes what a run that was killed had begun to write.
  void prepare() const;

  // Each worker writes its own state, and one of them the mean model; when all have, one commits,
  // which also removes the states of earlier steps. Nobody saves while one commits. Each returns
  // the file's SHA-256.
  Digest save_worker(std::int64_t step, WorkerId worker, const NamedTensors& state) const;
  Digest save_consensus(std::int64_t step, const NamedTensors& state) const;
  void commit(CheckpointInfo info) const;  // Its folder is filled in.
  void discard(std::int64_t step) const;   // Instead: what was written goes, what there was stays.

  // The mean model of a run that cannot be resumed. A checkpoint that the folder holds stays.
  void save_consensus_alone(const NamedTensors& state) const;

  // Whether a checkpoint has been committed.
  bool holds_one() const;

  // Throw UsageError naming the file, what is wrong and the way out. `load_info` looks at
  // checkpoint.json alone, `verify` at every file it names, `load_worker` at that worker's again.
  CheckpointInfo load_info() const;
  void verify(const CheckpointInfo& info) const;
  NamedTensors load_worker(const CheckpointInfo& info, WorkerId worker) const;

 private:
  std::string committed_folder() const;             // Empty: nothing is committed.
  std::string new_folder(std::int64_t step) const;  // Never that of what is committed.
  std::filesystem::path worker_file(const std::string& folder, WorkerId worker) const;
  std::filesystem::path consensus_file(const std::string& folder) const;  // Until it is committed.
  std::map<std::string, std::int64_t> step_folders() const;  // All that there are, with the step.

  std::filesystem::path directory_;
  // Known from `prepare` and `commit`, so that not every worker reads what all have saved.
  mutable std::optional<std::string> committed_;
};

}  // namespace huddle
