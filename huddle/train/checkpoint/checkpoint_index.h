// checkpoint.json: what a checkpoint is of, and the files that it consists of.

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

inline constexpr const char* kCheckpointIndex = "checkpoint.json";
inline constexpr const char* kConsensusFile = "consensus.pt";

// What it says.
struct CheckpointInfo {
  std::int64_t step = 0;  // Steps done.
  std::map<std::string, std::string>
      settings;         // The options that shape the run, as the command line spells them.
  std::string settled;  // The strategy with what it left open filled in; empty: not known.
  std::string folder;   // Of the workers' files.
  std::vector<std::string> workers;      // The SHA-256 of each worker's file, in hexadecimal.
  std::optional<std::string> consensus;  // That of consensus.pt, where it is of this step.
};

// The folders in which a state of this step may be, below the checkpoint's: the second where a run
// replaces a checkpoint of the same step, which stays whole until then.
std::array<std::string, 2> step_folder_names(std::int64_t step);
std::string worker_file_name(const std::string& folder, WorkerId worker);

// Every file stands there with its name, hash, worker, step and format.
std::string to_text(const CheckpointInfo& info);

// Throws UsageError naming `path`, what is wrong, what is allowed and the way out.
CheckpointInfo info_in(const std::filesystem::path& path, std::string_view text);

}  // namespace huddle
