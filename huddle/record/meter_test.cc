#include "huddle/record/meter.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

// Runs from 10 to 20; the first data of a peer is there at 14.
constexpr Exchange kExchange = {
    .begin = 10, .first_bytes = 14, .end = 20, .bytes_sent = 100, .messages_sent = 3};

void expect_time(const Meter::Total& total, const TimeSplit& expected) {
  EXPECT_DOUBLE_EQ(total.time.wait, expected.wait);
  EXPECT_DOUBLE_EQ(total.time.exchange, expected.exchange);
  EXPECT_DOUBLE_EQ(total.time.hidden, expected.hidden);
  EXPECT_DOUBLE_EQ(total.time.compute, 0);
}

Meter::Total blocked(const Exchange& exchange, Time from, Time to) {
  Meter meter;
  meter.blocked({&exchange, 1}, from, to);
  return meter.take();
}

TEST(Meter, SplitsAWholeExchangeAtTheFirstBytes) {
  Meter meter;
  meter.blocked(kExchange);
  expect_time(meter.take(), {.wait = 4, .exchange = 6, .hidden = 0});
}

TEST(Meter, HidesWhatPassedBeforeTheWorkerBlocked) {
  expect_time(blocked(kExchange, 12, 20), {.wait = 2, .exchange = 6, .hidden = 2});
  expect_time(blocked(kExchange, 14, 20), {.wait = 0, .exchange = 6, .hidden = 4});
  expect_time(blocked(kExchange, 17, 20), {.wait = 0, .exchange = 3, .hidden = 7});
}

TEST(Meter, HidesAllOfAnExchangeThatHadEndedBefore) {
  expect_time(blocked(kExchange, 25, 25), {.wait = 0, .exchange = 0, .hidden = 10});
  expect_time(blocked(kExchange, 20, 20), {.wait = 0, .exchange = 0, .hidden = 10});
}

TEST(Meter, CountsTheTimeBeforeTheExchangeBeganAsWait) {
  expect_time(blocked(kExchange, 8, 20), {.wait = 6, .exchange = 6, .hidden = 0});
}

TEST(Meter, CountsOnlyWaitWhereNoBytesCameWhileBlocked) {
  expect_time(blocked(kExchange, 10, 13), {.wait = 3, .exchange = 0, .hidden = 7});
}

TEST(Meter, TellsApartAllTimeThatTheWorkerWasBlocked) {
  for (Time from = 5; from <= 25; from += 0.5)
    for (Time to = from; to <= 25; to += 0.5) {
      const Meter::Total total = blocked(kExchange, from, to);
      EXPECT_DOUBLE_EQ(total.time.wait + total.time.exchange, to - from) << from << " " << to;
      EXPECT_GE(total.time.wait, 0) << from << " " << to;
      EXPECT_GE(total.time.exchange, 0) << from << " " << to;
      EXPECT_GE(total.time.hidden, 0) << from << " " << to;
      EXPECT_LE(total.time.hidden, 10) << from << " " << to;
    }
}

TEST(Meter, AddsUpUntilTaken) {
  Meter meter;
  meter.blocked(kExchange);
  meter.blocked({&kExchange, 1}, 12, 20);
  const Meter::Total total = meter.take();
  expect_time(total, {.wait = 6, .exchange = 12, .hidden = 2});
  EXPECT_EQ(total.bytes_sent, 200);
  EXPECT_EQ(total.messages_sent, 6);
}

TEST(Meter, BeginsAtZeroAndAgainAfterEachTake) {
  Meter meter;
  expect_time(meter.take(), {});
  meter.blocked(kExchange);
  meter.take();
  const Meter::Total total = meter.take();
  expect_time(total, {});
  EXPECT_EQ(total.bytes_sent, 0);
  EXPECT_EQ(total.messages_sent, 0);
}

TEST(Meter, CountsAnExchangeWithNobodyAsNothing) {
  expect_time(blocked({.begin = 5, .first_bytes = 5, .end = 5}, 5, 5), {});
}

}  // namespace
}  // namespace huddle
