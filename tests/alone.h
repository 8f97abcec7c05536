// Runs something in a process of its own: a simulation, of which a process can hold but one.

#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace huddle {

// What `tell` returns, told by a child process; "the process failed" if it ends otherwise.
// REQUIRES: this process has no other threads.
inline std::string alone(const std::function<std::string()>& tell) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no process";
  if (child == 0) {
    const std::string text = tell();
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "the process failed";
}

}  // namespace huddle
