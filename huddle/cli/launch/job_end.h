// How the processes of a job have ended, and what that means for the whole.

#pragma once

#include <string>
#include <vector>

namespace huddle {

struct ProcessEnd {
  int worker = 0;
  int exit_status = 0;
  int signal = 0;          // That ended it; 0: it exited by itself.
  bool was_asked = false;  // Whoever has started it asked it to end, for no wish of the user.

  bool is_good() const { return exit_status == 0 && signal == 0; }
  // It did not even begin: wrong usage, or a program that cannot be started.
  bool is_refused() const { return exit_status == 2 || exit_status == 126 || exit_status == 127; }
};

struct JobEnd {
  std::vector<ProcessEnd> ends;  // Of all workers, in the order in which they came.
  bool is_interrupted = false;   // By the user.
};

// 0: worker 0 ended well, since it gathers the results of all; 130: interrupted; 2: wrong usage; 1:
// anything else.
int exit_status_of(const JobEnd& job);

// What the workers could not say themselves, a line for each: who was killed, and without whom the
// others finished.
std::vector<std::string> closing_words(const JobEnd& job);

}  // namespace huddle
