#include "huddle/cli/comparison_folder.h"

#include <gtest/gtest.h>

#include "huddle/core/error.h"
#include "tests/scratch_folder.h"

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

}  // namespace
}  // namespace huddle
