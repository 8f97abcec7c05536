// Checkpoints: what a run leaves on disk so that it can go on, and so that others can use the
// model.
//
//   DIR/consensus.pt        the mean model as a dictionary of tensors; `torch.load` reads it
//   DIR/checkpoint.json     what was run, and which folder holds the newest whole state
//   DIR/step-000300/        worker-0.pt, worker-1.pt, ...: every worker's state after 300 steps
//
// checkpoint.json is replaced last and at once, so it always names a whole state, whenever the
// power fails.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "huddle/core/ids.h"

namespace huddle {

using NamedTensors = std::map<std::string, at::Tensor>;

// Writes a file that both `load_tensors` and Python's `torch.load` read; replaces an older one at
// once.
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

// Throws UsageError naming the file when it is missing, truncated or something else.
NamedTensors load_tensors(const std::filesystem::path& path);

// What checkpoint.json says.
struct CheckpointInfo {
  std::int64_t step = 0;  // Steps done.
  int workers = 0;
  std::map<std::string, std::string>
      settings;  // The options that shape the run, as the command line spells them.
};

// One run's checkpoints in one folder.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // What happens to a checkpoint that the folder holds already.
  enum class Older { refuse, replace };

  // Makes the folder. Throws UsageError when it cannot be written, or holds a checkpoint that is
  // not to be replaced. One that is stays whole until the next is committed. Removes what a run
  // that was killed had begun to write.
  void prepare(Older older = Older::refuse) const;

  // Each worker writes its own state; when all have, one of them commits, which also removes the
  // states of earlier steps.
  void save_worker(std::int64_t step, WorkerId worker, const NamedTensors& state) const;
  void save_consensus(const NamedTensors& state) const;
  void commit(const CheckpointInfo& info) const;

  // Throw UsageError naming the file and what is wrong.
  CheckpointInfo load_info() const;
  NamedTensors load_worker(std::int64_t step, WorkerId worker) const;

 private:
  std::filesystem::path step_folder(std::int64_t step) const;
  std::map<std::int64_t, std::filesystem::path> step_folders() const;  // All that there are.

  std::filesystem::path directory_;
};

}  // namespace huddle
