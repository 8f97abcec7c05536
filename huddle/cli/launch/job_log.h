// One log of what all workers of a job say on their error streams, line by line.
//
// Lines of worker 0 are as they are, those of the others have the worker's number in front: "[2]
// huddle: ...". What several workers say alike is shown once: all find the same mistake in their
// command line, and one message is enough. For that, what begins with "huddle: " waits for a
// moment, or for the first to say it would not be worker 0.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

class JobLog {
 public:
  using Write = std::function<void(std::string_view)>;
  // lines: worker 0 says whole lines; terminal: also half ones, such as a line that it draws again
  // and again. Others' lines then stand above it.
  enum class Mode { lines, terminal };

  JobLog(int workers, Mode mode, Write write);

  // What a worker has said, in pieces of any size.
  void add(int worker, std::string_view bytes, Seconds now);

  // A worker says no more: its last line may lack its end.
  void end(int worker, Seconds now);

  // Shows what has waited long enough.
  void show_due(Seconds now);

  // Shows all that waits still.
  void show_all();

 private:
  struct Waiting {
    int worker;
    std::string line;
    Seconds since;
  };

  void add_line(int worker, std::string line, Seconds now);
  void draw(std::string& line);
  void show_once(int worker, const std::string& line);
  void show(int worker, const std::string& line);

  const Mode mode_;
  const Write write_;
  std::vector<std::string> begun_;    // The last line of each worker, which has no end yet.
  bool is_drawn_ = false;             // That of worker 0 is on the terminal.
  std::deque<Waiting> waiting_;       // In the order in which they came.
  std::map<std::string, int> known_;  // Lines that are shown once, and who said them first.
};

}  // namespace huddle
