// Workers of a test as processes: the one that runs the test becomes worker 0 and forks the others,
// which go on from the same place. They meet in memory that all of them see.

#pragma once

#include <string>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

// Which of the workers this process is from now on, and how it tells the others something. Once in
// a process, before it starts any threads. Worker 0 then awaits the others before its process ends,
// which await_forked_workers.cc does for every test of GoogleTest.
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

// Waits, in the process of worker 0, for all other workers' processes to end. Returns a line for
// each that fails, or hangs and is ended; in other processes, and without any, nothing.
std::vector<std::string> await_forked_workers();

}  // namespace huddle
