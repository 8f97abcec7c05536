#include "huddle/base/spec.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

using Values = std::map<std::string, std::string>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

SpecInfo some_info() {
  using enum KeyInfo::Type;
  return {.name = "bsp",
          .summary = "",
          .keys = {{.name = "buckets",
                    .type = integer,
                    .fallback = "4",
                    .help = "",
                    .minimum = 1,
                    .maximum = 64,
                    .choices = {}},
                   {.name = "period",
                    .type = integer,
                    .fallback = "8",
                    .help = "",
                    .minimum = 1,
                    .choices = {}},
                   {.name = "alpha",
                    .type = number,
                    .fallback = "0.5",
                    .help = "",
                    .minimum = -1,
                    .maximum = 1,
                    .choices = {}},
                   {.name = "decay",
                    .type = number,
                    .fallback = "0.9",
                    .help = "",
                    .maximum = 1,
                    .ends = KeyInfo::Ends::excluded,
                    .choices = {}},
                   {.name = "algorithm",
                    .type = choice,
                    .fallback = "ring",
                    .help = "",
                    .choices = {"ring", "pair"}}}};
}

Options options(const std::string& text) {
  return Options("strategy", some_info(), parse_spec(text));
}

TEST(ParseSpec, TakesANameAlone) {
  const Spec spec = parse_spec("bsp");
  EXPECT_EQ(spec.name, "bsp");
  EXPECT_TRUE(spec.values.empty());
}

TEST(ParseSpec, TakesKeysAndValues) {
  const Spec spec = parse_spec("bsp:buckets=4,algorithm=ring");
  EXPECT_EQ(spec.name, "bsp");
  EXPECT_EQ(spec.values, (Values{{"algorithm", "ring"}, {"buckets", "4"}}));
}

TEST(ParseSpec, LeavesFurtherSignsToTheValue) {
  EXPECT_EQ(parse_spec("a:k=x=y:z").values, (Values{{"k", "x=y:z"}}));
}

TEST(ParseSpec, RefusesMalformedTextAndShowsIt) {
  for (const char* const text : {"", ":", ":k=v", "a:", "a:k", "a:k=", "a:=v", "a:=", "a:,",
                                 "a:k=v,", "a:,k=v", "a:k=v,,l=w"}) {
    const std::string message = refusal([&] { parse_spec(text); });
    EXPECT_TRUE(contains(message, std::string("'") + text + "'")) << text << ": " << message;
    EXPECT_TRUE(contains(message, "name:key=value")) << text << ": " << message;
  }
}

TEST(ParseSpec, RefusesAKeyGivenTwice) {
  EXPECT_TRUE(contains(refusal([] { parse_spec("a:k=1,k=1"); }), "'k' is given twice"));
}

TEST(SpecText, SpellsASpecWithKeysInOrder) {
  EXPECT_EQ(to_string(parse_spec("bsp")), "bsp");
  EXPECT_EQ(to_string(parse_spec("bsp:b=2,a=1")), "bsp:a=1,b=2");
  EXPECT_EQ(to_string(parse_spec(to_string(parse_spec("x:z=1,y=a=b")))), "x:y=a=b,z=1");
}

TEST(Options, FillsInDefaults) {
  const Options all = options("bsp");
  EXPECT_EQ(all.integer("buckets"), 4);
  EXPECT_EQ(all.number("alpha"), 0.5);
  EXPECT_EQ(all.text("algorithm"), "ring");
}

TEST(Options, TakesGivenValues) {
  const Options all = options("bsp:buckets=7,alpha=-2.5e-1,algorithm=pair");
  EXPECT_EQ(all.integer("buckets"), 7);
  EXPECT_EQ(all.number("alpha"), -0.25);
  EXPECT_EQ(all.text("algorithm"), "pair");
  EXPECT_EQ(all.integer("period"), 8);
}

TEST(Options, TakesBothEndsOfARange) {
  EXPECT_EQ(options("bsp:buckets=1").integer("buckets"), 1);
  EXPECT_EQ(options("bsp:buckets=64").integer("buckets"), 64);
  EXPECT_EQ(options("bsp:alpha=-1").number("alpha"), -1);
  EXPECT_EQ(options("bsp:period=1000000000000").integer("period"), 1'000'000'000'000);
}

TEST(Options, RefusesNumbersOutOfRangeOrNotNumbers) {
  for (const char* const value :
       {"0", "65", "-1", "1.5", "4x", " 4", "4 ", "+4", "0x4", "x", "nan", "inf", "1e999", "--1"}) {
    const std::string message = refusal([&] { options(std::string("bsp:buckets=") + value); });
    EXPECT_TRUE(contains(message, "strategy 'bsp'")) << value << ": " << message;
    EXPECT_TRUE(contains(message, std::string("buckets='") + value + "'"))
        << value << ": " << message;
    EXPECT_TRUE(contains(message, "a whole number from 1 to 64")) << value << ": " << message;
  }
  for (const char* const value : {"1.01", "-1.01", "nan", "inf", "-inf", "0.5.5", "1e"})
    EXPECT_TRUE(contains(refusal([&] { options(std::string("bsp:alpha=") + value); }),
                         "a number from -1 to 1"))
        << value;
}

TEST(Options, SaysWhereTheEndsOfARangeAreExcluded) {
  EXPECT_EQ(options("bsp:decay=0.001").number("decay"), 0.001);
  for (const char* const value : {"0", "1", "-1", "1.5"})
    EXPECT_TRUE(contains(refusal([&] { options(std::string("bsp:decay=") + value); }),
                         "a number above 0 and below 1; for example decay="))
        << value;
}

TEST(Options, NamesTheUpperEndThatEveryNumberHas) {
  EXPECT_TRUE(contains(refusal([] { options("bsp:period=0"); }),
                       "a whole number from 1 to 9007199254740992; for example period="));
  EXPECT_NE(refusal([] { options("bsp:period=1e19"); }), "");
}

TEST(Options, RefusesAnUnknownChoiceAndNamesTheAllowedOnes) {
  const std::string message = refusal([] { options("bsp:algorithm=rings"); });
  for (const char* const part :
       {"strategy 'bsp'", "unknown algorithm 'rings'", "did you mean 'ring'?", "ring, pair"})
    EXPECT_TRUE(contains(message, part)) << message;
}

TEST(Options, RefusesAnUnknownKeyAndNamesTheAllowedOnes) {
  const std::string message = refusal([] { options("bsp:bucket=2"); });
  for (const char* const part :
       {"strategy 'bsp'", "unknown key 'bucket'", "did you mean 'buckets'?",
        "buckets, period, alpha, decay, algorithm"})
    EXPECT_TRUE(contains(message, part)) << message;
}

TEST(Options, SaysSoWhereThereAreNoKeysAtAll) {
  const SpecInfo bare = {.name = "none", .summary = "", .keys = {}};
  EXPECT_NO_THROW(Options("strategy", bare, parse_spec("none")));
  const std::string message = refusal([&] { Options("strategy", bare, parse_spec("none:k=1")); });
  EXPECT_TRUE(contains(message, "takes no keys")) << message;
  EXPECT_TRUE(contains(message, "'k'")) << message;
}

TEST(Options, TreatsReadingAnUndeclaredKeyAsAMistakeInTheProgram) {
  EXPECT_THROW(options("bsp").text("missing"), LogicError);
  EXPECT_THROW(options("bsp").integer("missing"), LogicError);
}

TEST(FindInfo, FindsByNameOrSuggestsTheNearest) {
  const std::vector<SpecInfo> known = {some_info(),
                                       {.name = "local_sgd", .summary = "", .keys = {}}};
  EXPECT_EQ(find_info("strategy", known, "local_sgd").name, "local_sgd");
  const std::string message = refusal([&] { find_info("strategy", known, "local_sg"); });
  for (const char* const part :
       {"unknown strategy 'local_sg'", "did you mean 'local_sgd'?", "bsp, local_sgd"})
    EXPECT_TRUE(contains(message, part)) << message;
}

}  // namespace
}  // namespace huddle
