#include "huddle/compare/scenario/children.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/compare/scenario/child_process.h"

namespace huddle {
namespace {

constexpr int kWatchMilliseconds = 100;
constexpr int kEndMilliseconds = 1;  // Between the end of a stream and that of its process.
constexpr Seconds kPatience = 30;
constexpr std::size_t kErrorBytes = 16384;

[[noreturn]] void fail(const char* what) {
  throw Error(concat(what, ": ", system_message(errno), "."));
}

}  // namespace

std::string failure_of(const ChildEnd& end) {
  if (end.signal != 0)
    return concat("killed by signal ", end.signal, " (", strsignal(end.signal), ")");
  std::string said = end.errors;
  said.erase(said.find_last_not_of(" \n") + 1);
  if (said.starts_with("huddle: ")) said.erase(0, 8);
  return said.empty() ? concat("exit status ", end.exit_status) : said;
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

Children::Children(int at_once) : at_once_(at_once) {
  check(at_once >= 1, "at least one child must be allowed to run");
}

Children::~Children() { kill_all(); }

void Children::kill_all() {
  for (const Child& child : running_) {
    kill(child.process, SIGKILL);
    while (waitpid(child.process, nullptr, 0) < 0 && errno == EINTR) {
    }
    close(child.errors);
  }
  running_.clear();
}

void Children::stop() { is_stopped_ = true; }

void Children::run(std::span<const ChildCommand> commands, const Begins& begins, const Ended& ended,
                   const Watch& watch) {
  std::size_t next = 0;
  while (true) {
    while (!is_stopped_ && next < commands.size() &&
           running_.size() < static_cast<std::size_t>(at_once_)) {
      begins(next);
      begin(next, commands[next]);
      ++next;
    }
    if (running_.empty()) return;
    std::vector<std::size_t> indices;
    for (const Child& child : running_) indices.push_back(child.command);
    watch(indices);
    listen();
    collect(ended);
    if (is_stopped_) ask_to_stop();
  }
}

void Children::begin(std::size_t index, const ChildCommand& command) {
  std::array<int, 2> pipe{};
  // Closed on exec, so that no other child holds this one's end open.
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
  pid_t process = 0;
  try {
    process = start_child({.arguments = command.arguments,
                           .directory = command.directory,
                           .body = command.body,
                           .errors = pipe[1]});
  } catch (...) {
    for (const int end : pipe) close(end);
    throw;
  }
  close(pipe[1]);
  running_.push_back({index, process, pipe[0], "", steady_seconds()});
}

// Waits until a child has said something or ended, but not for long, and reads what it said. The
// stream of one that ends is closed, which marks it.
void Children::listen() {
  std::vector<pollfd> streams;
  for (const Child& child : running_)
    streams.push_back({.fd = child.errors, .events = POLLIN, .revents = 0});
  const bool one_ends = std::ranges::any_of(running_, &Child::is_silent);
  if (poll(streams.data(), streams.size(), one_ends ? kEndMilliseconds : kWatchMilliseconds) <= 0)
    return;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].revents == 0) continue;
    Child& child = running_[i];
    std::array<char, 4096> bytes{};
    const ssize_t count = read(child.errors, bytes.data(), bytes.size());
    if (count > 0) {
      child.said.append(bytes.data(), static_cast<std::size_t>(count));
      if (child.said.size() > kErrorBytes) child.said.erase(0, child.said.size() - kErrorBytes);
    } else if (count == 0) {
      close(child.errors);
      child.errors = -1;
    }
  }
}

void Children::collect(const Ended& ended) {
  for (std::size_t i = 0; i < running_.size();) {
    int status = 0;
    // One that has closed its stream has nearly always ended, but may live on.
    if (!running_[i].is_silent() || waitpid(running_[i].process, &status, WNOHANG) == 0) {
      ++i;
      continue;
    }
    const Child child = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    ended(child.command, {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                          .errors = child.said,
                          .seconds = steady_seconds() - child.begun});
  }
}

void Children::ask_to_stop() {
  if (!is_asked_) asked_at_ = steady_seconds();
  const bool is_patient = steady_seconds() - asked_at_ < kPatience;
  if (is_asked_ && is_patient) return;
  for (const Child& child : running_) kill(child.process, is_patient ? SIGINT : SIGKILL);
  is_asked_ = true;
}

}  // namespace huddle
