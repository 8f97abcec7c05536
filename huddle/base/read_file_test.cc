#include "huddle/base/read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

// Why the file is not read.
std::string refusal_of(const std::filesystem::path& file, std::int64_t most_bytes = 100,
                       std::string_view way_out = {}) {
  return refusal([&] { read_file(file, most_bytes, way_out); });
}

TEST(ReadFile, GivesAllBytesUpToTheLimit) {
  const ScratchFolder folder;
  EXPECT_EQ(read_file(folder.write("empty", ""), 0), "");
  const std::string text("a\0\n\xff", 4);
  EXPECT_EQ(read_file(folder.write("some", text), 4), text);
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(read_file(folder.write("large", large), 3'000'000), large);
}

TEST(ReadFile, RefusesWhatIsLargerThanItMayBe) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.write("large", std::string(101, 'x'));
  EXPECT_EQ(refusal_of(file), concat("cannot read '", file.string(),
                                     "': it has 101 bytes or more, and such a file at most 100."));
}

TEST(ReadFile, RefusesWhatIsNoRegularFileWithoutOpeningIt) {
  const ScratchFolder folder;
  EXPECT_NE(refusal_of(folder.path()).find("it is a folder"), std::string::npos);
  EXPECT_NE(refusal_of("/dev/zero").find("it is a device"), std::string::npos);
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(refusal_of(pipe).find("it is a pipe"), std::string::npos);
  std::filesystem::create_symlink(pipe, folder.path() / "link");
  EXPECT_NE(refusal_of(folder.path() / "link").find("it is a pipe"), std::string::npos);
}

TEST(ReadFile, SaysWhatIsMissingAndTheWayOut) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "none";
  EXPECT_EQ(refusal_of(file, 100, "make one"),
            concat("cannot read '", file.string(), "': there is no such file; make one."));
}

TEST(ReadEnds, GivesTheFirstAndTheLastBytes) {
  const ScratchFolder folder;
  const FileEnds ends = read_ends(folder.write("long", "first and last"), 5);
  EXPECT_EQ(ends.first, "first");
  EXPECT_EQ(ends.last, " last");
  EXPECT_EQ(read_ends(folder.write("short", "all"), 5).last, "all");
}

TEST(ReadLines, GivesEveryLineHoweverBlocksCutThem) {
  const ScratchFolder folder;
  std::vector<std::string> wanted;
  std::string text;
  for (int i = 0; i < 30; ++i) {
    wanted.push_back(
        std::string(static_cast<std::size_t>(i) * 9973, static_cast<char>('a' + i % 26)));
    text += wanted.back() + "\n";
  }
  wanted.push_back("no end");
  std::vector<std::string> lines;
  read_lines(folder.write("lines", text + "no end"), 1'000'000,
             [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(lines, wanted);
}

TEST(ReadLines, RefusesALineWithoutEnd) {
  const ScratchFolder folder;
  const auto file = folder.write("line", "short\n" + std::string(2'000'000, 'x'));
  EXPECT_THROW(read_lines(file, 1000, [](const std::string&) {}), UsageError);
}

}  // namespace
}  // namespace huddle
