// What the meter learns of averages that run beside a worker and of those in the foreground.

#include "huddle/replica/averages_in_flight.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

void with_endpoint(const std::function<void(Endpoint&)>& body) {
  make_threads_launcher({})->run(body);
}

constexpr Exchange kLong{
    .begin = 1, .first_bytes = 2, .end = 9, .bytes_sent = 5, .messages_sent = 3};

TEST(AveragesInFlight, CountsWhatEndedBeforeTheWaitAsHidden) {
  with_endpoint([](Endpoint& endpoint) {
    Meter meter;
    AveragesInFlight averages(endpoint, meter, {20});
    averages.start(Lane{1}, [](Endpoint&) { return Exchange{-8, -7, -2, 5, 3}; });
    averages.settle(endpoint.now());
    const Meter::Total total = meter.take();
    EXPECT_DOUBLE_EQ(total.time.hidden, 6);
    EXPECT_EQ(total.bytes_sent, 5);
    EXPECT_EQ(total.messages_sent, 3);
  });
}

TEST(AveragesInFlight, CountsEachAverageOnceHoweverOftenItIsAskedFor) {
  with_endpoint([](Endpoint& endpoint) {
    Meter meter;
    AveragesInFlight averages(endpoint, meter, {20});
    averages.start(Lane{1}, [](Endpoint&) { return kLong; });
    averages.run([](Endpoint&) { return kLong; });
    averages.land();
    EXPECT_EQ(meter.take().bytes_sent, 0) << "landing is not told";
    averages.settle(endpoint.now());
    EXPECT_EQ(meter.take().bytes_sent, 10);
    averages.settle(endpoint.now());
    EXPECT_EQ(meter.take().bytes_sent, 0);
  });
}

TEST(AveragesInFlight, ThrowsWhereItIsWaitedForWhatAnAverageThrew) {
  with_endpoint([](Endpoint& endpoint) {
    Meter meter;
    AveragesInFlight averages(endpoint, meter, {20});
    averages.start(Lane{1}, [](Endpoint&) -> Exchange { throw UsageError("no"); });
    EXPECT_THROW(averages.settle(endpoint.now()), UsageError);
  });
}

TEST(Append, MakesOneExchangeOfTwo) {
  Exchange total = kLong;
  append(total, {.begin = 9, .first_bytes = 10, .end = 12, .bytes_sent = 1, .messages_sent = 1});
  EXPECT_EQ(total.begin, 1);
  EXPECT_EQ(total.first_bytes, 2);
  EXPECT_EQ(total.end, 12);
  EXPECT_EQ(total.bytes_sent, 6);
  EXPECT_EQ(total.messages_sent, 4);
}

}  // namespace
}  // namespace huddle
