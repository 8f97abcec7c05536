// What the workers of one process make once and share. Keeps nothing alive by itself.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "huddle/transport/endpoint.h"

namespace huddle {

// Any thread may call.
class Commons {
 public:
  using Make = GroupReduce::Make;

  // What somebody holds under this name, or what `make` gives. What it throws is thrown here, and
  // the next one who asks makes it anew.
  std::shared_ptr<const void> get(const std::string& name, const Make& make);

 private:
  struct Entry {
    std::mutex mutex;  // Held while it is made; taken without the other one. Guards:
    std::weak_ptr<const void> thing;
  };

  std::shared_ptr<Entry> entry_for(const std::string& name);

  std::mutex mutex_;  // Guards:
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::size_t look_again_ = 64;  // At how many entries those that nobody holds are left out.
};

}  // namespace huddle
