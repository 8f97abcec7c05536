// Services on a real engine: typed messages, replies, and what clients learn when none will come.

#include "huddle/transport/service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "huddle/transport/requests.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr Lane kLane{5};

enum class Colour { red, green };

struct Inner {
  double number = 0;
  static auto fields(auto& self) { return std::tie(self.number); }
};

struct Everything {
  bool is_on = false;
  Colour colour = Colour::red;
  std::int64_t count = 0;
  WorkerId worker;
  Inner inner;
  std::vector<Inner> several;
  Group group;
  static auto fields(auto& self) {
    return std::tie(self.is_on, self.colour, self.count, self.worker, self.inner, self.several,
                    self.group);
  }
};

TEST(Message, ArrivesAsItWasSent) {
  const Everything sent{.is_on = true,
                        .colour = Colour::green,
                        .count = 1LL << 40,
                        .worker = {7},
                        .inner = {0.1},
                        .several = {{1}, {2.5}},
                        .group = Group({{3}, {1}})};
  const auto given = from_tensor<Everything>(to_tensor(sent, size_of(sent) + 3));
  EXPECT_TRUE(given.is_on);
  EXPECT_EQ(given.colour, Colour::green);
  EXPECT_EQ(given.count, 1LL << 40);
  EXPECT_EQ(given.worker, WorkerId{7});
  EXPECT_EQ(given.inner.number, 0.1);
  ASSERT_EQ(given.several.size(), 2u);
  EXPECT_EQ(given.several[1].number, 2.5);
  EXPECT_EQ(given.group, Group({{1}, {3}}));
}

TEST(Message, IsNeverLongerThanBothEndsExpect) {
  EXPECT_THROW(to_tensor(Everything{.several = {{1}}}), LogicError);
}

struct Request {
  double number = 0;
  bool leaves = false;
  static auto fields(auto& self) { return std::tie(self.number, self.leaves); }
};
struct Doubled {
  double number = 0;
  static auto fields(auto& self) { return std::tie(self.number); }
};

// Doubles numbers until all have left.
void serve(Endpoint& endpoint) {
  Requests<Request> requests(endpoint, kLane);
  std::set<WorkerId> left;
  while (static_cast<int>(left.size()) < endpoint.workers()) try {
      const auto event = requests.next();
      if (event.request.number < 0) throw Error("a negative number");
      if (event.request.leaves)
        left.insert(event.from);
      else
        requests.reply(event.from, event.number, Doubled{2 * event.request.number});
    } catch (const PeerLost& lost) {
      left.insert(lost.peer());
    }
}

struct Asking {
  explicit Asking(Endpoint& endpoint)
      : service(endpoint, {.home = {2},
                           .lane = kLane,
                           .deadline = {20},
                           .without = [](WorkerId) { return "nobody doubles any more"; }}),
        client(endpoint, service, kLane) {
    if (service.is_here()) service.start(serve);
  }
  Service service;
  Client<Request, Doubled> client;
};

ThreadsOptions three() {
  ThreadsOptions options;
  options.cluster.workers = 3;
  return options;
}

TEST(Service, RepliesToAllWhereverItRuns) {
  std::atomic<int> replies = 0;
  make_threads_launcher(three())->run([&](Endpoint& endpoint) {
    Asking asking(endpoint);
    for (int i = 0; i < 100; ++i) {
      const double number = 1000. * endpoint.self().value + i;
      asking.client.ask({.number = number});
      EXPECT_EQ(asking.client.reply().number, 2 * number);
      ++replies;
    }
    asking.client.tell({.leaves = true});
    asking.service.join();
    EXPECT_FALSE(asking.service.is_running());
  });
  EXPECT_EQ(replies, 300);
}

// The home throws what the program threw; the others learn what its loss means.
TEST(Service, ThatFailsLeavesNobodyWaiting) {
  std::atomic<int> told = 0;
  const auto run = [&](Endpoint& endpoint) {
    Asking asking(endpoint);
    try {
      while (true) {  // Whoever left in time would not see it fail.
        asking.client.ask({.number = endpoint.self() == WorkerId{1} ? -1. : 1.});
        asking.client.reply();
      }
    } catch (const PeerLost& lost) {
      EXPECT_NE(endpoint.self(), WorkerId{2});
      EXPECT_NE(std::string(lost.what()).find("nobody doubles any more"), std::string::npos);
      ++told;
      throw;
    }
  };
  try {
    make_threads_launcher(three())->run(run);
    ADD_FAILURE() << "a failed service went unnoticed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a negative number"), std::string::npos);
  }
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace huddle
