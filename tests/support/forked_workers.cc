#include "tests/support/forked_workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr int kMost = 64;
constexpr std::size_t kLongest = 4000;
constexpr Seconds kPatience = 60;

std::vector<pid_t>& others() {
  static std::vector<pid_t> pids;
  return pids;
}

}  // namespace

struct ForkedWorkers::Board {
  std::atomic<int> written{0};
  std::array<std::size_t, kMost> sizes{};
  std::array<std::array<char, kLongest>, kMost> texts{};
};

ForkedWorkers::ForkedWorkers(int workers)
    : workers_(workers),
      board_(new (::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) Board) {
  check(workers <= kMost && others().empty(), "too many workers");
  for (int worker = 1; worker < workers; ++worker) {
    const pid_t pid = ::fork();
    check(pid >= 0, "no process can be had");
    if (pid > 0) {
      others().push_back(pid);
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    others().clear();
    self_ = {worker};
    return;
  }
}

std::vector<std::string> ForkedWorkers::exchange(const std::string& own) const {
  check(own.size() <= kLongest, "too long to be told");
  const auto self = static_cast<std::size_t>(self_.value);
  std::memcpy(board_->texts[self].data(), own.data(), own.size());
  board_->sizes[self] = own.size();
  ++board_->written;
  const Time give_up = steady_seconds() + kPatience;
  while (board_->written < workers_) {
    check(steady_seconds() < give_up, "a process has not come");
    ::poll(nullptr, 0, 1);
  }
  std::vector<std::string> all;
  for (std::size_t worker = 0; worker < static_cast<std::size_t>(workers_); ++worker)
    all.emplace_back(board_->texts[worker].data(), board_->sizes[worker]);
  return all;
}

std::vector<std::string> await_forked_workers() {
  std::vector<std::string> complaints;
  const Time give_up = steady_seconds() + kPatience;
  for (const pid_t pid : std::exchange(others(), {})) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0 && steady_seconds() < give_up)
      ::poll(nullptr, 0, 1);
    if (ended == 0) {
      complaints.push_back(concat("process ", pid, " of another worker hangs"));
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      complaints.push_back(
          concat("process ", pid, " of another worker ended with status ", status));
    }
  }
  return complaints;
}

}  // namespace huddle
