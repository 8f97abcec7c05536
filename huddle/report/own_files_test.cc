#include "huddle/report/own_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "huddle/base/error.h"
#include "huddle/report/run_files.h"
#include "huddle/report/timeline.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

const OwnFile kAll[] = {OwnFile::summary, OwnFile::steps,   OwnFile::timeline,
                        OwnFile::report,  OwnFile::results, OwnFile::checkpoint};

std::string refusal(const fs::path& file, OwnFile kind, Older older) {
  try {
    check_replaceable(file, kind, older, "--out x");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(OwnFiles, AreThoseThatAreWritten) {
  const ScratchFolder folder;
  RunFiles files(folder.path());
  const fs::path steps = folder.path() / "steps.jsonl";
  EXPECT_TRUE(is_own(steps, OwnFile::steps)) << "no step yet";
  files.append(StepRecord{});
  files.write_summary({.strategy = "bsp"}, "1.2.3");
  TimelineFile timeline(folder.path() / "timeline.json", {.strategy = "bsp", .version = "1.2.3"});
  EXPECT_TRUE(is_own(folder.path() / "timeline.json", OwnFile::timeline)) << "while it is written";
  timeline.close();
  EXPECT_TRUE(is_own(steps, OwnFile::steps));
  EXPECT_TRUE(is_own(folder.path() / "summary.json", OwnFile::summary));
  EXPECT_TRUE(is_own(folder.path() / "timeline.json", OwnFile::timeline));
  EXPECT_FALSE(is_own(folder.path() / "timeline.json", OwnFile::summary));
}

TEST(OwnFiles, AreNoOthers) {
  const ScratchFolder folder;
  for (const OwnFile kind : kAll) {
    for (const char* const text : {"mine", "{}", "{\"strategy\":\"x\"}", "{\"traceEvents\":[]}",
                                   "[1]", "<html>", "{\"worker\":1}"})
      EXPECT_FALSE(is_own(folder.write("file", text), kind)) << text;
    EXPECT_FALSE(is_own(folder.path() / "none", kind));
    EXPECT_FALSE(is_own(folder.path(), kind));
    EXPECT_FALSE(is_own("/dev/null", kind));
  }
}

TEST(OwnFiles, AreReplacedIfAskedForAndOthersNever) {
  const ScratchFolder folder;
  const fs::path foreign = folder.write("foreign", "mine");
  const fs::path own = folder.write("own", R"({"worker":0,"step":0})");
  EXPECT_EQ(refusal(folder.path() / "none", OwnFile::steps, Older::refuse), "");
  EXPECT_EQ(refusal(own, OwnFile::steps, Older::replace), "");
  EXPECT_NE(refusal(own, OwnFile::steps, Older::refuse).find("--replace"), std::string::npos);
  for (const Older older : {Older::refuse, Older::replace})
    EXPECT_NE(refusal(foreign, OwnFile::steps, older).find("Huddle has not written"),
              std::string::npos);
  EXPECT_NE(refusal("/dev/null", OwnFile::report, Older::replace), "");
}

}  // namespace
}  // namespace huddle
