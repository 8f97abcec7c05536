// How a worker is started on another machine: the words of an ssh command, and what to write to it.
//
// Its command line is seen by everybody who can list processes, here and there, so the job's token
// comes by standard input, whose first line it is. What follows there are names of signals to pass
// on ("TERM"), one a line; when it ends, whoever has started the worker is gone, and the worker is
// killed. So none is left behind, whatever happens to the connection.

#pragma once

#include <string>
#include <vector>

namespace huddle {

struct RemoteStart {
  std::string host;                      // As ssh takes it.
  std::string directory;                 // Where the worker runs there.
  std::vector<std::string> environment;  // "NAME=value", for everybody to see.
  std::vector<std::string> arguments;    // The first is the program's path there.
};

std::vector<std::string> remote_command(const RemoteStart& start);

}  // namespace huddle
