#include "huddle/compare/scenario/children.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

ChildCommand shell(const std::string& script) {
  return {{"/bin/sh", "-c", script}, std::filesystem::temp_directory_path()};
}

std::map<std::size_t, ChildEnd> ends_of(
    Children& children, const std::vector<ChildCommand>& commands,
    const Children::Watch& watch = [](auto) {}) {
  std::map<std::size_t, ChildEnd> ends;
  children.run(
      commands, [](std::size_t) {},
      [&](std::size_t index, const ChildEnd& end) { ends[index] = end; }, watch);
  return ends;
}

void rest() { ::poll(nullptr, 0, 10); }

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0; }

TEST(Children, TellsHowEachEndedAndGoesOnAfterAFailure) {
  Children children(2);
  const auto ends = ends_of(children, {shell("exit 0"), shell("echo no luck >&2; exit 3"),
                                       shell("kill -9 $$"), shell("echo unseen; exit 0")});
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ends.at(0).exit_status, 0);
  EXPECT_EQ(ends.at(1).exit_status, 3);
  EXPECT_EQ(ends.at(1).errors, "no luck\n");
  EXPECT_EQ(ends.at(2).signal, SIGKILL);
  EXPECT_EQ(ends.at(3).exit_status, 0);
  EXPECT_EQ(ends.at(3).errors, "");
  EXPECT_FALSE(has_children()) << "a zombie is left";
}

TEST(Children, RunsAsManyAtOnceAsAllowed) {
  for (const int at_once : {1, 3}) {
    Children children(at_once);
    std::size_t most = 0;
    ends_of(children, std::vector<ChildCommand>(6, shell("sleep 0.05")),
            [&](std::span<const std::size_t> running) { most = std::max(most, running.size()); });
    EXPECT_EQ(most, static_cast<std::size_t>(at_once));
  }
}

TEST(Children, NothingToRunIsDone) {
  Children children(1);
  EXPECT_TRUE(ends_of(children, {}).empty());
}

TEST(Children, AProgramThatIsNotThereIsAFailureLikeAnother) {
  Children children(1);
  const auto ends = ends_of(children, {{{"/nowhere/huddle"}, "/"}, {{"/bin/true"}, "/nowhere"}});
  EXPECT_EQ(ends.at(0).exit_status, 127);
  EXPECT_EQ(ends.at(0).errors, "cannot start /nowhere/huddle: ENOENT");
  EXPECT_EQ(ends.at(1).exit_status, 127);
}

TEST(Children, MuchTalkNeitherBlocksNorIsKept) {
  Children children(1);
  const auto ends = ends_of(children, {shell("head -c 300000 /dev/zero >&2; echo end >&2")});
  EXPECT_EQ(ends.at(0).exit_status, 0);
  EXPECT_TRUE(ends.at(0).errors.ends_with("end\n"));
  EXPECT_LT(ends.at(0).errors.size(), 20000u);
}

TEST(Children, StopAsksThoseThatRunAndBeginsNoOther) {
  Children children(2);
  const ScratchFolder scratch;
  const auto until_asked = [&](const char* name) {
    return shell("trap 'exit 130' INT; touch " + (scratch.path() / name).string() +
                 "; while :; do sleep 0.02; done");
  };
  const auto ends = ends_of(children, {until_asked("a"), until_asked("b"), shell("exit 0")},
                            [&](std::span<const std::size_t>) {
                              if (std::filesystem::exists(scratch.path() / "a") &&
                                  std::filesystem::exists(scratch.path() / "b"))
                                children.stop();
                            });
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends.at(0).exit_status, 130);
  EXPECT_EQ(ends.at(1).exit_status, 130);
  EXPECT_FALSE(has_children());
}

// A parent that is killed cannot ask anybody; its child must be gone all the same.
TEST(Children, DieWithTheirParent) {
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "process";
  const pid_t parent = ::fork();
  if (parent == 0) {
    Children children(1);
    const ChildCommand endless{{"/bin/sh", "-c", "echo $$ > " + file.string() + "; exec sleep 600"},
                               "/"};
    children.run(
        std::vector{endless}, [](std::size_t) {}, [](std::size_t, const ChildEnd&) {}, [](auto) {});
    ::_exit(0);
  }
  pid_t child = 0;
  for (int i = 0; i < 6000 && child == 0; ++i) {
    rest();
    std::ifstream(file) >> child;
  }
  ASSERT_GT(child, 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  // Whoever adopts it may leave it a zombie, which is dead enough.
  const auto is_alive = [&] {
    std::string name, ignored, state;
    std::ifstream("/proc/" + std::to_string(child) + "/stat") >> ignored >> name >> state;
    return !state.empty() && state != "Z" && state != "X";
  };
  for (int i = 0; i < 6000 && is_alive(); ++i) rest();
  EXPECT_FALSE(is_alive());
}

}  // namespace
}  // namespace huddle
