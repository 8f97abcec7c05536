// Runs something in a process of its own: what can be done but once in a process (a simulation), or
// is measured by process (memory).

#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>

namespace huddle {

struct ChildEnding {
  bool succeeded = false;  // It returned 0.
  std::string said;
};

// `body` runs in a child with a pipe to say something through, and returns an exit status.
// REQUIRES: this process has started no threads.
inline ChildEnding in_child(const std::function<int(int pipe)>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return {false, "no pipe"};
  std::fflush(nullptr);  // Or the child would print again what waits to be printed here.
  const pid_t child = ::fork();
  if (child < 0) return {false, "no process"};
  if (child == 0) {
    int status = 1;
    try {
      status = body(ends[1]);
    } catch (const std::exception& error) {  // Or the child would go on as a second parent.
      std::fprintf(stderr, "%s\n", error.what());
    }
    std::fflush(nullptr);
    ::_exit(status);
  }
  ::close(ends[1]);
  ChildEnding ending;
  char buffer[4096];
  for (ssize_t size; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    ending.said.append(buffer, static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ending.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return ending;
}

// What `tell` returns, told by a child; "the process failed" if it ends otherwise.
inline std::string alone(const std::function<std::string()>& tell) {
  const ChildEnding ending = in_child([&](int pipe) {
    const std::string text = tell();
    return ::write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
  });
  return ending.succeeded ? ending.said : "the process failed";
}

}  // namespace huddle
