#include "huddle/cli/bench/gloo_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/compare/scenario/child_process.h"

namespace huddle {
namespace {

constexpr int kPatienceMs = 120'000;

// One request a line: the path, how many numbers, and the groups. The answer is a line, too.
constexpr const char* kProgram = R"(
import sys
import torch
import torch.distributed as dist

meeting, rank, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=workers)
print("ready", flush=True)
process_groups = {}
for line in sys.stdin:
    path, count, *groups = line.split()
    values = torch.from_file(path, shared=True, size=int(count), dtype=torch.float32)
    for group in groups:
        if group not in process_groups:
            process_groups[group] = dist.new_group([int(member) for member in group.split(",")],
                                                   use_local_synchronization=True)
        dist.all_reduce(values, group=process_groups[group])
        values.div_(1 + group.count(","))
    print("done", flush=True)
)";

std::pair<int, int> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(concat("no pipe can be had: ", system_message(errno)));
  return {ends[0], ends[1]};
}

}  // namespace

std::string meeting_of_gloo() {
  std::string name = (std::filesystem::temp_directory_path() / "huddle-gloo-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw Error(concat("no temporary file can be made: ", system_message(errno)));
  ::close(file);
  std::filesystem::remove(name);  // Gloo wants to make it itself.
  return name;
}

GlooProgram::GlooProgram(const Place& place) : place_(place) {
  std::signal(SIGPIPE, SIG_IGN);  // That it has ended is told by an error, not by the end of all.
  const auto [input, requests] = make_pipe();
  const auto [answers, output] = make_pipe();
  requests_ = requests;
  answers_ = answers;
  process_ = start_child({.arguments = {place.python, "-c", kProgram, place.meeting,
                                        std::to_string(place.rank), std::to_string(place.workers)},
                          .environment = {"GLOO_SOCKET_IFNAME=lo"},
                          .input = input,
                          .output = output,
                          .errors = STDERR_FILENO});
  ::close(input);
  ::close(output);
  if (answer() != "ready")
    throw UsageError(concat("--gloo ", place.python,
                            " did not start: it needs a Python with torch.distributed."));
}

GlooProgram::~GlooProgram() {
  ::close(requests_);
  ::close(answers_);
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  if (place_.rank == 0) std::filesystem::remove(place_.meeting);  // Gloo leaves it behind.
}

void GlooProgram::average(std::span<const Group> groups, const std::string& path,
                          std::int64_t count) {
  std::string request = concat(path, " ", count);
  for (const Group& group : groups) {
    char separator = ' ';
    for (const WorkerId member : group) {
      request += concat(std::string(1, separator), member.value);
      separator = ',';
    }
  }
  request += "\n";
  for (std::size_t at = 0; at < request.size();) {
    const ssize_t written = ::write(requests_, request.data() + at, request.size() - at);
    if (written < 0) fail();
    at += static_cast<std::size_t>(written);
  }
  if (answer() != "done") fail();
}

void GlooProgram::fail() const {
  throw Error(
      concat("the program of Gloo beside worker ", place_.rank,
             " has ended, or says nothing; the error stream says why, or leave --gloo out"));
}

// A line without its end; what there is of it where the program has ended or says nothing more.
std::string GlooProgram::answer() {
  std::string line;
  pollfd wait{.fd = answers_, .events = POLLIN, .revents = 0};
  char letter = 0;
  while (::poll(&wait, 1, kPatienceMs) > 0 && ::read(answers_, &letter, 1) == 1 && letter != '\n')
    line += letter;
  return line;
}

}  // namespace huddle
