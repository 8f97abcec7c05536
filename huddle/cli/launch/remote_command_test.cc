#include "huddle/cli/launch/remote_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "huddle/compare/scenario/child_process.h"

namespace huddle {
namespace {

// The command of ssh as the other machine runs it, but here.
class Remote {
 public:
  explicit Remote(const std::vector<std::string>& arguments, const std::string& first_line) {
    const std::vector<std::string> words =
        remote_command({.host = "node1",
                        .directory = std::filesystem::temp_directory_path().string(),
                        .environment = {"HUDDLE_RANK=3", "TRICKY=a 'b' $HOME \"c\""},
                        .arguments = arguments});
    EXPECT_EQ(std::vector(words.begin(), words.end() - 1),
              (std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "node1"}));
    EXPECT_EQ(words.back().find("secret"), std::string::npos);
    EXPECT_EQ(pipe2(input_.data(), O_CLOEXEC) + pipe2(output_.data(), O_CLOEXEC), 0);
    process_ = start_child({.arguments = {"sh", "-c", words.back()},
                            .input = input_[0],
                            .output = output_[1],
                            .errors = output_[1]});
    close(input_[0]);
    close(output_[1]);
    write_line(first_line);
  }
  ~Remote() {
    hang_up();
    close(output_[0]);
  }

  void write_line(const std::string& line) {
    const std::string text = line + "\n";
    EXPECT_EQ(write(input_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // As when the connection is gone.
  void hang_up() {
    if (input_[1] >= 0) close(input_[1]);
    input_[1] = -1;
  }

  // All that it says until nobody has its output open any more, or so much of it.
  std::string read(std::size_t most = SIZE_MAX) {
    std::string said;
    std::array<char, 4096> bytes{};
    for (ssize_t count = 1; count > 0 && said.size() < most;) {
      count = ::read(output_[0], bytes.data(), std::min(bytes.size(), most - said.size()));
      if (count > 0) said.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return said;
  }

  int exit_status() {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::array<int, 2> input_{};
  std::array<int, 2> output_{};
  pid_t process_ = 0;
};

TEST(RemoteCommand, GivesTheWorkerItsPlaceItsTokenAndItsWordsAsTheyAre) {
  Remote remote({"sh", "-c", "echo \"$HUDDLE_TOKEN|$HUDDLE_RANK|$TRICKY|$1|$2\"; pwd; exit 7", "x",
                 "it's", "two words"},
                "secret");
  EXPECT_EQ(remote.read(), "secret|3|a 'b' $HOME \"c\"|it's|two words\n" +
                               std::filesystem::temp_directory_path().string() + "\n");
  EXPECT_EQ(remote.exit_status(), 7);
}

TEST(RemoteCommand, PassesSignalsOn) {
  Remote remote(
      {"sh", "-c", "trap 'echo heard; exit 5' TERM; echo here; while :; do sleep 0.1; done"},
      "secret");
  EXPECT_EQ(remote.read(5), "here\n");
  remote.write_line("TERM");
  EXPECT_EQ(remote.read(), "heard\n");
  EXPECT_EQ(remote.exit_status(), 5);
}

TEST(RemoteCommand, LeavesNobodyBehindWhenTheConnectionIsGone) {
  Remote remote({"sh", "-c", "trap '' TERM INT HUP; echo here; exec sleep 1000"}, "secret");
  EXPECT_EQ(remote.read(5), "here\n");
  remote.hang_up();
  remote.read();  // Comes to an end when the worker does.
  EXPECT_EQ(remote.exit_status(), 128 + SIGKILL);
}

TEST(RemoteCommand, TellsAProgramThatIsNotThere) {
  Remote remote({"/no/such/program"}, "secret");
  EXPECT_NE(remote.read().find("/no/such/program"), std::string::npos);
  EXPECT_EQ(remote.exit_status(), 127);
}

}  // namespace
}  // namespace huddle
