// One process of a job, here or behind ssh: what it says, how it ends, what it can be sent.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/cli/launch/job_end.h"
#include "huddle/cli/launch/job_log.h"

namespace huddle {

struct WorkerStart {
  std::vector<std::string> arguments;         // The first is the program.
  std::vector<std::string> environment = {};  // "NAME=value", beside that of this process.
  // Of a worker on another machine, the first line for its standard input, which stays open and
  // takes signals (remote_command.h). Empty: it runs here.
  std::string remote_input = {};

  bool is_remote() const { return !remote_input.empty(); }
};

// How worker 0, whose lines are shown as they are, is to take its error stream.
enum class ErrorStream { pipe, terminal };

class WorkerProcess {
 public:
  // Starts it. Worker 0 writes to the standard output of this process; what others write there
  // goes where their errors go. Throws Error where the system has no process to give.
  WorkerProcess(int worker, const WorkerStart& start, ErrorStream kind);
  // Kills it, and all that it has started, unless it has ended.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int worker() const { return worker_; }

  // What it says can be read here; -1: nothing more will come.
  int stream() const { return stream_; }

  // Reads what it has said, without waiting. A terminal that has changed its size is told.
  std::string read();

  // How it ended; nothing while it runs. What it said last can still be read.
  std::optional<ProcessEnd> end();

  // To it and to all that it has started.
  void send(int signal);

 private:
  const int worker_;
  const bool is_remote_;
  const ErrorStream kind_;
  pid_t process_ = 0;  // 0: ended.
  int stream_ = -1;
  int input_ = -1;  // Of a remote one.
};

}  // namespace huddle
