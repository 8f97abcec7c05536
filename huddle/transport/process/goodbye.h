// What workers tell one another of ends, as it travels: each of its own to all others, and whoever
// notices that a process is gone of that.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "huddle/base/ids.h"
#include "huddle/transport/local/outside.h"

namespace huddle {

struct Goodbye {
  WorkerEnding ending = WorkerEnding::finished;
  std::string reason;
  std::string failure;  // See failure.h.
  Time at = 0;
  std::uint64_t has_seen = 0;        // So many messages of the reader's,
  std::set<std::uint64_t> has_left;  // and has fetched the data of all but these.

  static auto fields(auto& self) {
    return std::tie(self.ending, self.reason, self.failure, self.at, self.has_seen, self.has_left);
  }
};

struct LossNote {
  int worker = 0;
  std::string why;

  static auto fields(auto& self) { return std::tie(self.worker, self.why); }
};

// `sent`: how many messages the reader has sent to that worker. Throws LogicError on what no worker
// can have said.
Goodbye read_goodbye(std::string_view text, std::uint64_t sent);

}  // namespace huddle
