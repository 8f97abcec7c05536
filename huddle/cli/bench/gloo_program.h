// Gloo's all-reduce as users have it, through PyTorch: its headers are in no package, so a Python
// process beside each worker averages in the worker's own memory.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "huddle/base/group.h"

namespace huddle {

// Where the processes of one measurement find one another: a name for all of them, made by one.
std::string meeting_of_gloo();

class GlooProgram {
 public:
  struct Place {
    std::string python;
    std::string meeting;
    int rank = 0;
    int workers = 1;
  };

  // Starts it; it ends with this object, or with the thread that made it. Throws UsageError where
  // that Python has no torch.distributed.
  explicit GlooProgram(const Place& place);
  ~GlooProgram();
  GlooProgram(const GlooProgram&) = delete;
  GlooProgram& operator=(const GlooProgram&) = delete;

  // The mean of the group's numbers, in place and once for each group, in the memory behind `path`.
  // Process groups are made when they are first used, and kept.
  void average(std::span<const Group> groups, const std::string& path, std::int64_t count);

 private:
  std::string answer();
  [[noreturn]] void fail() const;

  const Place place_;
  pid_t process_ = -1;
  int requests_ = -1;
  int answers_ = -1;
};

}  // namespace huddle
