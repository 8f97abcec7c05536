#include "huddle/compare/scenario/comparison_folder.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

class ComparisonFolderTest : public testing::Test {
 protected:
  ComparisonFolderTest() { scenario_.cases.push_back({.name = "all"}); }

  ComparisonFolder open(const std::string& program = "1.0") const {
    return {scratch_.path(), scenario_, {.case_files = {"cases/all.toml"}}, program};
  }

  void make(const ComparisonFolder& folder, Seconds seconds) const {
    folder.begin(run_);
    scratch_.write("runs/all/bsp/1/summary.json", R"({"status": "complete"})");
    folder.end(run_, seconds);
  }

  const ScratchFolder scratch_;
  Scenario scenario_;
  const PlannedRun run_{.id = "all/bsp/1", .seed = 1, .arguments = {"train"}};
};

TEST_F(ComparisonFolderTest, KnowsWhatHasBeenDoneAndByWhichProgram) {
  {
    const ComparisonFolder folder = open();
    EXPECT_FALSE(folder.is_done(run_));
    make(folder, 2);
    EXPECT_TRUE(folder.is_done(run_));
    EXPECT_EQ(folder.seconds_of(run_), 2);
    PlannedRun other = run_;
    other.arguments.push_back("--steps=3");
    EXPECT_FALSE(folder.is_done(other));
    EXPECT_THROW(open(), UsageError) << "it belongs to one comparison at a time";
  }
  const ComparisonFolder newer = open("1.1");
  EXPECT_FALSE(newer.is_done(run_));
  EXPECT_TRUE(newer.is_outdated(run_));
}

TEST_F(ComparisonFolderTest, ARunThatIsDisownedIsNotDoneWhateverItWrote) {
  const ComparisonFolder folder = open();
  make(folder, 2);
  folder.disown(run_);
  EXPECT_FALSE(folder.is_done(run_));
  EXPECT_FALSE(folder.is_outdated(run_));
}

TEST_F(ComparisonFolderTest, TheComparisonOfAnotherScenarioIsGivenUpOnlyIfAskedFor) {
  make(open(), 2);
  scenario_.name = "other";
  try {
    open();
    ADD_FAILURE() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("--replace"), std::string::npos) << error.what();
  }
  const ComparisonFolder folder(scratch_.path(), scenario_, {.case_files = {"cases/all.toml"}},
                                "1.0", Older::replace);
  EXPECT_FALSE(std::filesystem::exists(folder.run(run_))) << "a run of the other scenario";
}

TEST_F(ComparisonFolderTest, FilesOfOthersAreNeverReplaced) {
  for (const char* const name :
       {"results.json", "report.html", "cases/all.toml", "runs/x", ".lock"}) {
    const std::filesystem::path file = scratch_.write(name, "mine");
    for (const Older older : {Older::refuse, Older::replace})
      EXPECT_THROW(ComparisonFolder(scratch_.path(), scenario_, {.case_files = {"cases/all.toml"}},
                                    "1.0", older),
                   UsageError)
          << name;
    const std::string first = file.lexically_relative(scratch_.path()).begin()->string();
    std::filesystem::remove_all(scratch_.path() / first);
    EXPECT_TRUE(std::filesystem::is_empty(scratch_.path())) << name;
  }
  scratch_.write("notes.txt", "beside it");
  EXPECT_NO_THROW(open());
}

}  // namespace
}  // namespace huddle
