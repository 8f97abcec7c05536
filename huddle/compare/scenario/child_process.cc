#include "huddle/compare/scenario/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// The environment of this process with these variables in it.
std::vector<std::string> environment_with(const std::vector<std::string>& changed) {
  const auto name_of = [](const std::string& variable) {
    return variable.substr(0, variable.find('='));
  };
  std::vector<std::string> all = changed;
  for (char** each = environ; *each != nullptr; ++each)
    if (std::ranges::none_of(changed, [&](const std::string& variable) {
          return name_of(variable) == name_of(*each);
        }))
      all.emplace_back(*each);
  return all;
}

// As the system wants them. The texts outlive it.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What a new process does first. Only calls that are safe while other threads of the parent held
// locks: nothing here may allocate.
void settle(const ChildStart& start, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // The parent died before it could be watched.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(start.input >= 0 ? start.input : nothing, STDIN_FILENO);
  dup2(start.output >= 0 ? start.output : nothing, STDOUT_FILENO);
  dup2(start.errors >= 0 ? start.errors : nothing, STDERR_FILENO);
}

// Likewise, before it becomes another program.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* directory) {
  if (*directory == '\0' || chdir(directory) == 0) execvpe(arguments[0], arguments, environment);
  const char* const name = strerrorname_np(errno);
  const char* const reason = name != nullptr ? name : "for an unknown reason";
  for (const char* part : {"cannot start ", static_cast<const char*>(arguments[0]), ": ", reason})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(127);
}

}  // namespace

pid_t start_child(const ChildStart& start) {
  const std::vector<char*> arguments = pointers_to(start.arguments);
  const std::vector<std::string> variables = environment_with(start.environment);
  const std::vector<char*> environment = pointers_to(variables);
  const std::string directory = start.directory.string();
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    settle(start, parent);
    if (start.body) _exit(start.body());
    become(arguments.data(), environment.data(), directory.c_str());
  }
  if (process < 0) throw Error(concat("cannot start a process: ", system_message(errno), "."));
  setpgid(process, process);  // Whoever of the two comes first.
  return process;
}

}  // namespace huddle
