// Files that are read: regular ones alone, and none that is larger than what it should hold.
//
// A pipe that nobody writes to would hold the reader up for ever, and a device such as /dev/zero
// never ends. Both are refused by what they are, before anything is read; so is a folder.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace huddle {

// What files that people write or edit may hold at most, in bytes: far more than any makes sense.
inline constexpr std::int64_t kMostTextBytes = 64 << 20;

// The same for what Huddle writes of runs and comparisons, thousands of workers and links in them.
inline constexpr std::int64_t kMostResultBytes = 1 << 30;

// The whole file. Throws UsageError "cannot read 'FILE': REASON." unless it is a regular file that
// can be read and has at most `most_bytes`; `way_out` is what the user can do, "; WAY_OUT" then
// stands before the full stop.
std::string read_file(const std::filesystem::path& file, std::int64_t most_bytes,
                      std::string_view way_out = {});

// Its first and its last bytes, at most so many of each; both are the whole of a short one.
struct FileEnds {
  std::string first;
  std::string last;
};
FileEnds read_ends(const std::filesystem::path& file, std::int64_t bytes);

// Gives every line to `take`, without its end, in order, however many there are; the last one may
// lack its end. Throws as read_file does, also for a line of more than `most_bytes`.
void read_lines(const std::filesystem::path& file, std::int64_t most_bytes,
                const std::function<void(const std::string& line)>& take);

}  // namespace huddle
