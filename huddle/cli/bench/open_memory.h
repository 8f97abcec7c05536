// Memory that other processes of this machine can open by its path: for what is averaged together
// with a program that is none of ours.

#pragma once

#include <cstdint>
#include <string>

namespace huddle {

class OpenMemory {
 public:
  // Throws Error where the system has none to give.
  explicit OpenMemory(std::int64_t bytes);
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

  // As long as this lives; nothing is left behind however the process ends.
  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }
  void* place() const { return place_; }

 private:
  const std::int64_t bytes_;
  int descriptor_ = -1;
  void* place_ = nullptr;
  std::string path_;
};

}  // namespace huddle
