#include "huddle/base/units.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "huddle/base/error.h"
#include "tests/support/refusal.h"

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
  EXPECT_THROW(parse_bandwidth("x", "1e308Gbps"), UsageError);
}

TEST(Units, RefusesTimesThatNoClockCanTell) {
  EXPECT_DOUBLE_EQ(parse_seconds("x", "1e9s"), 1e9);
  for (const char* text : {"1.1e9s", "1e300s", "1e13ms"}) {
    const std::string sentence = refusal([&] { parse_seconds("--compute", text); });
    for (const char* word : {"--compute", text, "from 0 s to 1e+09 s", "0.1ms"})
      EXPECT_NE(sentence.find(word), std::string::npos) << sentence;
  }
}

TEST(Units, RefusesSizesThatNoModelHas) {
  EXPECT_DOUBLE_EQ(parse_wire("x", "1kB"), 1e3);
  EXPECT_DOUBLE_EQ(parse_wire("x", "100000GB"), 1e14);
  for (const char* text : {"0B", "999B", "1e12GB", "100001GB"}) {
    const std::string sentence = refusal([&] { parse_wire("--wire", text); });
    for (const char* word : {"--wire", text, "at least 1 kB and at most 100000 GB", "102.4MB"})
      EXPECT_NE(sentence.find(word), std::string::npos) << sentence;
  }
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
