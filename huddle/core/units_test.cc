#include "huddle/core/units.h"

#include <gtest/gtest.h>

#include "huddle/core/error.h"

namespace huddle {
namespace {

TEST(Units, ReadsNumbersWithTheirUnits) {
  EXPECT_DOUBLE_EQ(parse_seconds("x", "0.1ms"), 1e-4);
  EXPECT_DOUBLE_EQ(parse_seconds("x", "2 s"), 2);
  EXPECT_DOUBLE_EQ(parse_bytes("x", "102.4MB"), 102.4e6);
  EXPECT_DOUBLE_EQ(parse_bytes("x", "1KiB"), 1024);
  EXPECT_DOUBLE_EQ(parse_bandwidth("x", "10Gbps"), 1.25e9);
}

TEST(Units, RefusesWhatIsNotANumberWithAUnit) {
  for (const char* text : {"", "ms", "5", "-1ms", "5 lightyears", "nanms", "1e999s", "5msx"})
    EXPECT_THROW(parse_seconds("x", text), UsageError) << text;
}

TEST(Units, NamesTheValueAndTheUnits) {
  try {
    parse_bandwidth("--bandwidth", "10GB");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--bandwidth: '10GB' is not a non-negative number with one of the units bps, "
                 "kbps, Mbps, Gbps; for example 10Gbps.");
  }
}

}  // namespace
}  // namespace huddle
