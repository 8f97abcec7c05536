// Workers of a test as processes: the one that runs the test becomes worker 0 and forks the others,
// which go on from the same place. They meet in memory that all of them see.

#pragma once

#include <string>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

// Which of the workers this process is from now on, and how it tells the others something. Once in
// a process, before it starts any threads. GoogleTest then waits for the other processes at its
// end, and fails where one of them does.
class ForkedWorkers {
 public:
  explicit ForkedWorkers(int workers);

  WorkerId self() const { return self_; }

  // What each worker says, by worker. All call it, once. At most 4,000 bytes.
  std::vector<std::string> exchange(const std::string& own) const;

 private:
  struct Board;

  const int workers_;
  Board* const board_;
  WorkerId self_;
};

}  // namespace huddle
