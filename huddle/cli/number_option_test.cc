#include "huddle/cli/number_option.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

using Kind = NumberOption::Kind;
using Ends = NumberOption::Ends;

const NumberOption kWorkers{.name = "--workers", .least = 1, .most = 64, .example = "8"};
const NumberOption kRate{
    .name = "--lr", .kind = Kind::real, .most = 10, .example = "0.1", .ends = Ends::least_excluded};
const NumberOption kMomentum{.name = "--momentum",
                             .kind = Kind::real,
                             .most = 1,
                             .example = "0.9",
                             .ends = Ends::most_excluded};

TEST(NumberOption, TakesNumbersOfItsRange) {
  for (const char* const value : {"1", "8", "64"}) EXPECT_EQ(mistake_in(kWorkers, value), "");
  for (const char* const value : {"1e-9", "0.1", "10", "1"})
    EXPECT_EQ(mistake_in(kRate, value), "");
  for (const char* const value : {"0", "0.0", "0.999"}) EXPECT_EQ(mistake_in(kMomentum, value), "");
}

TEST(NumberOption, RefusesOthersWithTheRangeAndAValueThatWorks) {
  for (const std::string value : {"0", "65", "-1", "1.5", "1e1", "many", "", " 8", "8 ", "+8",
                                  "nan", "0x8", "010", "99999999999999999999"})
    EXPECT_EQ(mistake_in(kWorkers, value),
              "'" + value + "' is not a whole number from 1 to 64; for example --workers 8");
  for (const std::string value : {"0", "-0.1", "10.1", "inf", "nan", "1e400", "high", ""})
    EXPECT_EQ(mistake_in(kRate, value),
              "'" + value + "' is not a number above 0 and at most 10; for example --lr 0.1");
  for (const std::string value : {"1", "1.5", "-0.1", "nan"})
    EXPECT_EQ(mistake_in(kMomentum, value),
              "'" + value + "' is not a number at least 0 and below 1; for example --momentum 0.9");
}

TEST(NumberOption, IsCheckedWhenACommandIsParsed) {
  CLI::App command;
  int workers = 4;
  bool is_quiet = false;
  command.add_option("--workers", workers);
  command.add_flag("--quiet", is_quiet);
  add_ranges(command, std::vector{kWorkers});
  EXPECT_NO_THROW(command.parse("--workers 7 --quiet"));
  EXPECT_EQ(workers, 7);
  EXPECT_TRUE(is_quiet);
  EXPECT_THROW(command.parse("--workers 65"), CLI::ValidationError);
  EXPECT_THROW(command.parse("--quiet=5"), CLI::ArgumentMismatch);
}

}  // namespace
}  // namespace huddle
