#include "huddle/cli/bench/open_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {

// A file in memory without a name: whoever may read this process's descriptors can open it.
OpenMemory::OpenMemory(std::int64_t bytes)
    : bytes_(bytes), descriptor_(::memfd_create("huddle bench", MFD_CLOEXEC)) {
  const auto size = static_cast<std::size_t>(bytes);
  if (descriptor_ >= 0 && ::ftruncate(descriptor_, bytes) == 0)
    place_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (place_ == nullptr || place_ == MAP_FAILED) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error(concat("no memory of ", bytes, " bytes can be had: ", system_message(errno)));
  }
  path_ = concat("/proc/", ::getpid(), "/fd/", descriptor_);
}

OpenMemory::~OpenMemory() {
  ::munmap(place_, static_cast<std::size_t>(bytes_));
  ::close(descriptor_);
}

}  // namespace huddle
