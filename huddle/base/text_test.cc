#include "huddle/base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

using Words = std::vector<std::string>;

TEST(Concat, WritesItsPartsOneAfterAnother) {
  EXPECT_EQ(concat("a", 1, '-', 2.5, std::string("z")), "a1-2.5z");
}

TEST(Joined, PutsTheSeparatorBetweenItemsOnly) {
  EXPECT_EQ(joined(Words{}), "");
  EXPECT_EQ(joined(Words{"a"}), "a");
  EXPECT_EQ(joined(Words{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined(Words{"a", "b"}, "|"), "a|b");
}

TEST(Nearest, FindsATypo) {
  const Words words = {"bsp", "local_sgd", "ds_sync"};
  EXPECT_EQ(nearest("bps", words), "bsp");  // Swapped neighbours are one slip.
  EXPECT_EQ(nearest("xyp", words), "");     // Two letters of three are too many.
  EXPECT_EQ(nearest("bspp", words), "bsp");
  EXPECT_EQ(nearest("local_sg", words), "local_sgd");
  EXPECT_EQ(nearest("localsgd", words), "local_sgd");
  EXPECT_EQ(nearest("dssync", words), "ds_sync");
  EXPECT_EQ(nearest("ds_sync", words), "ds_sync");
}

TEST(Nearest, SuggestsNothingThatIsFarOff) {
  EXPECT_EQ(nearest("completely_different", Words{"bsp", "local_sgd"}), "");
  EXPECT_EQ(nearest("", Words{"bsp"}), "");
  EXPECT_EQ(nearest("bsp", Words{}), "");
}

TEST(Nearest, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(nearest("ring", Words{"rings"}), "rings");
  EXPECT_EQ(nearest("ring", Words{"rin"}), "rin");
  EXPECT_EQ(nearest("ring", Words{"king"}), "king");
  EXPECT_EQ(nearest("ring", Words{"kind"}), "kind");  // Two edits are half the word: still likely.
  EXPECT_EQ(nearest("ring", Words{"kinds"}), "");     // Three are not.
}

TEST(Nearest, PrefersTheClosestAndThenTheFirst) {
  EXPECT_EQ(nearest("aaaa", Words{"aabb", "aaab", "aaac"}), "aaab");
}

TEST(Counts, AreJoinedAndReadBack) {
  EXPECT_EQ(joined(std::vector{4, 2, 3}, 'x'), "4x2x3");
  EXPECT_EQ(parse_counts("radices", "4x2x3", 'x'), (std::vector{4, 2, 3}));
  EXPECT_EQ(parse_counts("--racks", "12", '+'), (std::vector{12}));
  for (const char* text : {"", "4x", "x4", "4,4", "4x4x", "four", "4 x4", "99999999999", "4+4"})
    EXPECT_THROW(parse_counts("radices", text, 'x'), UsageError) << text;
}

TEST(UnknownValue, NamesTheValueTheNearestAndAllAllowed) {
  EXPECT_EQ(unknown_value("strategy", "bspp", Words{"bsp", "local_sgd"}),
            "unknown strategy 'bspp'; did you mean 'bsp'? Known: bsp, local_sgd.");
}

TEST(UnknownValue, SuggestsNothingWithoutANearMatch) {
  const std::string text = unknown_value("strategy", "magic", Words{"bsp", "local_sgd"});
  EXPECT_NE(text.find("unknown strategy 'magic'"), std::string::npos) << text;
  EXPECT_EQ(text.find("did you mean"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" Known: bsp, local_sgd.")) << text;
}

}  // namespace
}  // namespace huddle
