// Command lines, or functions of this program, run side by side, each in a process of its own, and
// all of them gone when this process is.
//
// A child has a process group of its own, so that Ctrl-C at the terminal reaches this process
// alone, which then asks each child once; and the system kills it should this process die without
// asking. It reads nothing, its output is dropped, and what it says on the error stream is kept.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

struct ChildCommand {
  std::vector<std::string> arguments;  // The first is the program's path.
  std::filesystem::path directory;     // Where it runs.
  // In place of both: what the child does instead, and the exit status that it returns. Must not
  // throw. REQUIRES: no other thread of this process holds a lock that it needs.
  std::function<int()> body = {};
};

struct ChildEnd {
  int exit_status = 0;
  int signal = 0;      // That ended it; 0: it exited by itself.
  std::string errors;  // What it said on the error stream; only the end of very much.
  Seconds seconds = 0;
};

// Why a child did not do what it should: "killed by signal 9 (Killed)", what it said, or its
// status.
std::string failure_of(const ChildEnd& end);

// How many processors this process may use.
int usable_cores();

class Children {
 public:
  // REQUIRES: at_once >= 1.
  explicit Children(int at_once);

  // From now on so many. REQUIRES: at_once >= 1; `run` has not been called.
  void set_at_once(int at_once) { at_once_ = at_once; }

  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  using Begins = std::function<void(std::size_t command)>;
  using Ended = std::function<void(std::size_t command, const ChildEnd& end)>;
  using Watch = std::function<void(std::span<const std::size_t> running)>;

  // Runs all commands in their order, returns when none is left. `begins` is called before each is
  // begun and `ended` after it, `watch` several times a second, all on this thread. To be called
  // once. Throws Error where the system has no process to give.
  void run(std::span<const ChildCommand> commands, const Begins& begins, const Ended& ended,
           const Watch& watch);

  // Begins no more of them, and asks those that run to stop (SIGINT); who has not stopped 30
  // seconds later is killed. Any thread may call it, at any time.
  void stop();
  bool is_stopped() const { return is_stopped_; }

 private:
  struct Child {
    std::size_t command;
    pid_t process;
    int errors;  // Reads its error stream; -1 once that has ended.
    std::string said;
    Seconds begun;

    bool is_silent() const { return errors < 0; }
  };

  void begin(std::size_t index, const ChildCommand& command);
  void listen();
  void collect(const Ended& ended);
  void ask_to_stop();
  void kill_all();

  int at_once_;
  std::vector<Child> running_;
  std::atomic<bool> is_stopped_{false};
  bool is_asked_ = false;
  Seconds asked_at_ = 0;
};

}  // namespace huddle
