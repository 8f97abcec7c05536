// How a process is started that ends with this one, whatever happens: the system kills it should
// this process die without asking. It has a process group of its own, so that Ctrl-C at the
// terminal reaches this process alone, which then decides.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace huddle {

struct ChildStart {
  std::vector<std::string> arguments;  // The first is the program; without a slash: found by PATH.
  std::filesystem::path directory = {};  // Where it runs; empty: here.
  // What it sees beside the environment of this process, or in place of it: "NAME=value".
  std::vector<std::string> environment = {};
  // In place of all that: what the child does instead, and the exit status that it returns. Must
  // not throw. REQUIRES: no other thread of this process holds a lock that it needs.
  std::function<int()> body = {};
  // File descriptors of this process that become its standard ones; -1: nothing to read, and what
  // is written is dropped. They stay open here.
  int input = -1;
  int output = -1;
  int errors = -1;
};

// Returns the process, which is also its group. A program that cannot be started says so on the
// error stream and ends with status 127. The thread that calls this must outlive the child: with
// it, the system takes the parent for dead. Throws Error where the system has no process to give.
pid_t start_child(const ChildStart& start);

}  // namespace huddle
