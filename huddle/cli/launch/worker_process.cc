#include "huddle/cli/launch/worker_process.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/compare/scenario/child_process.h"

namespace huddle {
namespace {

constexpr int kMostSignals = 64;

// What is written to one end is read from the other.
struct Stream {
  int ours = -1;
  int theirs = -1;
};

[[noreturn]] void fail(const char* what) {
  throw Error(concat(what, ": ", system_message(errno), "."));
}

// All ends are closed on exec, so that no worker holds another's open.
Stream open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
  return {ends[0], ends[1]};
}

// For a worker that draws its progress on a terminal: it finds one, and we read what it draws.
Stream open_terminal() {
  const int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 128> name{};
  const bool is_open = ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0 &&
                       ptsname_r(ours, name.data(), name.size()) == 0;
  const int theirs = is_open ? open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
  if (theirs < 0) {
    const int error = errno;
    if (ours >= 0) close(ours);
    errno = error;
    fail("cannot make a terminal");
  }
  termios settings{};
  tcgetattr(theirs, &settings);
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // The real terminal does that.
  tcsetattr(theirs, TCSANOW, &settings);
  return {ours, theirs};
}

void match_window(int terminal) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) ioctl(terminal, TIOCSWINSZ, &size);
}

// Small enough for the pipe, unless whoever reads has stopped long ago.
void write_line(int stream, const std::string& line) {
  const std::string text = line + "\n";
  if (write(stream, text.data(), text.size()) < 0) return;  // It is about to end.
}

}  // namespace

WorkerProcess::WorkerProcess(int worker, const WorkerStart& start, ErrorStream kind)
    : worker_(worker), is_remote_(start.is_remote()), kind_(kind) {
  const Stream said = kind == ErrorStream::terminal ? open_terminal() : open_pipe();
  stream_ = said.ours;
  fcntl(stream_, F_SETFL, O_NONBLOCK);
  if (kind == ErrorStream::terminal) match_window(stream_);
  Stream heard;
  if (is_remote_) heard = open_pipe();
  try {
    process_ = start_child({.arguments = start.arguments,
                            .environment = start.environment,
                            .input = heard.ours,
                            .output = worker == 0 ? STDOUT_FILENO : said.theirs,
                            .errors = said.theirs});
  } catch (...) {
    for (const int each : {said.ours, said.theirs, heard.ours, heard.theirs})
      if (each >= 0) close(each);
    throw;
  }
  close(said.theirs);
  if (!is_remote_) return;
  close(heard.ours);
  input_ = heard.theirs;
  fcntl(input_, F_SETFL, O_NONBLOCK);
  write_line(input_, start.remote_input);
}

WorkerProcess::~WorkerProcess() {
  if (process_ != 0) {
    kill(-process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (const int each : {stream_, input_})
    if (each >= 0) close(each);
}

std::string WorkerProcess::read() {
  std::string said;
  if (stream_ < 0) return said;
  if (kind_ == ErrorStream::terminal) match_window(stream_);
  std::array<char, 65536> bytes{};
  const ssize_t count = ::read(stream_, bytes.data(), bytes.size());
  if (count > 0) {
    said.assign(bytes.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    close(stream_);  // A terminal that nobody has open any more gives an error, no end.
    stream_ = -1;
  }
  return said;
}

std::optional<ProcessEnd> WorkerProcess::end() {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return {};
  // While its number is taken, no other group can have it.
  kill(-process_, SIGKILL);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  ProcessEnd end{.worker = worker_,
                 .exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                 .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  const int shells_signal = end.exit_status - 128;  // As a shell tells of it.
  if (is_remote_ && shells_signal > 0 && shells_signal <= kMostSignals && shells_signal != SIGINT) {
    end.signal = shells_signal;
    end.exit_status = 0;
  }
  return end;
}

void WorkerProcess::send(int signal) {
  if (process_ == 0) return;
  // A shell starts what runs beside it deaf to SIGINT. When ssh is killed the other end notices.
  if (is_remote_ && signal != SIGKILL)
    write_line(input_, "TERM");
  else
    kill(-process_, signal);
}

}  // namespace huddle
