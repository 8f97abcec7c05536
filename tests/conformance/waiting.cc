// How operations are waited for, given up and let go, and how time passes.

#include <algorithm>
#include <array>

#include "tests/conformance/conformance.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

constexpr Tag kGo = numbered(1000);

TEST_P(Conformance, AnEmptyPendingIsReadyAndWaitingForItReturns) {
  run(1, [](Endpoint&) {
    Pending nothing;
    EXPECT_FALSE(nothing.under_way());
    EXPECT_TRUE(nothing.ready());
    nothing.wait(kDeadline);
    nothing.cancel();
    nothing.wait(kDeadline);
  });
}

TEST_P(Conformance, APendingIsEmptyAfterItsWait) {
  run(2, [](Endpoint& endpoint) {
    const WorkerId peer = peers_of(endpoint).front();
    Pending send = endpoint.send(peer, kTag, number(endpoint.self().value));
    const at::Tensor message = number(-1);
    Pending receive = endpoint.receive(peer, kTag, message);
    EXPECT_TRUE(receive.under_way());
    receive.wait(kDeadline);
    EXPECT_FALSE(receive.under_way());
    receive.wait(kDeadline);
    EXPECT_EQ(value_of(message), peer.value);
    send.wait(kDeadline);
    EXPECT_FALSE(send.under_way());
  });
}

// `ready` is asked before the peer is told to go on: if it blocked, nobody would.
TEST_P(Conformance, AReceiveIsReadyOnceItsMessageIsThereAndNotBefore) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 1) {
      hear(endpoint, {0}, kGo);
      return tell(endpoint, {0}, kTag, 5);
    }
    const at::Tensor message = number(-1);
    Pending receive = endpoint.receive({1}, kTag, message);
    EXPECT_FALSE(receive.ready());
    endpoint.compute(Step{0}, 0.005);
    EXPECT_FALSE(receive.ready());
    tell(endpoint, {1}, kGo);
    EXPECT_TRUE(becomes_ready(endpoint, receive));
    EXPECT_EQ(receive.from(), WorkerId{1});
    receive.wait(kDeadline);
    EXPECT_EQ(value_of(message), 5);
  });
}

TEST_P(Conformance, ASendIsReadyOnceItsMessageWasReceived) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 1) {
      hear(endpoint, {0}, kTag);
      return meet(endpoint);
    }
    Pending send = endpoint.send({1}, kTag, number(5));
    EXPECT_TRUE(becomes_ready(endpoint, send));
    send.wait(kDeadline);
    meet(endpoint);
  });
}

// Receives of worker 0, one from each other, which sends when it is told to.
struct Receives {
  explicit Receives(Endpoint& endpoint) {
    for (const WorkerId peer : peers_of(endpoint)) {
      messages.push_back(number(-1));
      pendings.push_back(endpoint.receive(peer, kTag, messages.back()));
    }
    for (Pending& pending : pendings) open.push_back(&pending);
  }

  // Waits for whichever is ready and returns the worker it came from.
  WorkerId take() {
    const std::size_t index = wait_any(open, kDeadline);
    Pending& ready = *open.at(index);
    EXPECT_TRUE(ready.ready());
    const WorkerId from = ready.from();
    ready.wait(kDeadline);
    EXPECT_EQ(value_of(messages.at(static_cast<std::size_t>(from.value - 1))), from.value);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    return from;
  }

  std::vector<at::Tensor> messages;
  std::vector<Pending> pendings;
  std::vector<Pending*> open;
};

void send_when_told(Endpoint& endpoint) {
  hear(endpoint, {0}, kGo);
  tell(endpoint, {0}, kTag, endpoint.self().value);
  meet(endpoint);
}

TEST_P(Conformance, WaitAnyReturnsTheOneThatIsReady) {
  run(5, [](Endpoint& endpoint) {
    if (endpoint.self().value > 0) return send_when_told(endpoint);
    Receives receives(endpoint);
    for (const WorkerId peer : {WorkerId{3}, WorkerId{1}, WorkerId{4}, WorkerId{2}}) {
      tell(endpoint, peer, kGo);
      EXPECT_EQ(receives.take(), peer);
    }
    meet(endpoint);
  });
}

TEST_P(Conformance, WaitAnyReturnsEachOfSeveralThatAreReady) {
  run(5, [](Endpoint& endpoint) {
    if (endpoint.self().value > 0) return send_when_told(endpoint);
    Receives receives(endpoint);
    for (const int peer : {1, 3, 4}) tell(endpoint, {peer}, kGo);
    for (const std::size_t index : {0, 2, 3})
      EXPECT_TRUE(becomes_ready(endpoint, receives.pendings[index]));
    std::vector<WorkerId> order = {receives.take(), receives.take(), receives.take()};
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<WorkerId>{{1}, {3}, {4}}));
    tell(endpoint, {2}, kGo);
    EXPECT_EQ(receives.take(), WorkerId{2});
    meet(endpoint);
  });
}

TEST_P(Conformance, WaitAnyThrowsTimeoutWhenNoneIsReadyAndLeavesAllUnderWay) {
  run(3, [](Endpoint& endpoint) {
    if (endpoint.self().value > 0) return send_when_told(endpoint);
    Receives receives(endpoint);
    endpoint.compute(Step{6}, 0);
    const Time begin = endpoint.now();
    const Timeout late = thrown_by<Timeout>([&] { wait_any(receives.open, kBrief); });
    EXPECT_GE(endpoint.now() - begin, kBrief.after);
    expect_mentions(late.what(), {"worker 0", "step 6"});
    for (Pending* pending : receives.open) EXPECT_TRUE(pending->under_way() && !pending->ready());
    for (const int peer : {1, 2}) tell(endpoint, {peer}, kGo);
    receives.take();
    receives.take();
    meet(endpoint);
  });
}

TEST_P(Conformance, WaitAnyTakesReceivesWatchesAndProgramsTogether) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 1) return meet(endpoint);
    const at::Tensor message = number(-1);
    Pending receive = endpoint.receive({1}, kTag, message);
    Pending watch = endpoint.watch(Group::everyone(2));
    Pending program = endpoint.spawn(Lane{1}, [](Endpoint& lane) { lane.compute(Step{0}, 0.002); });
    Pending* const all[] = {&receive, &watch, &program};
    EXPECT_EQ(wait_any(all, kDeadline), 2u);
    program.wait(kDeadline);
    meet(endpoint);
  });
}

TEST_P(Conformance, ADeadlineThatFiresNamesEverybodyAndLeavesTheReceiveUnderWay) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      hear(endpoint, {1}, kGo);
      return tell(endpoint, {1}, kTag, 3);
    }
    endpoint.compute(Step{4}, 0);
    const at::Tensor message = number(-1);
    Pending receive = endpoint.receive({0}, kTag, message);
    const Time begin = endpoint.now();
    const Timeout late = thrown_by<Timeout>([&] { receive.wait(kBrief); });
    EXPECT_GE(endpoint.now() - begin, kBrief.after);
    expect_mentions(late.what(), {"worker 1", "step 4", "worker 0"});
    EXPECT_TRUE(receive.under_way());
    EXPECT_FALSE(receive.ready());
    tell(endpoint, {0}, kGo);
    receive.wait(kDeadline);
    EXPECT_EQ(value_of(message), 3);
  });
}

// Worker 1 posts a receive and gives it up in the way of `give_up`; the message that comes then
// belongs to the next receive.
void expect_later_receive_gets_it(Endpoint& endpoint, const std::function<void(Pending)>& give_up) {
  if (endpoint.self().value == 0) {
    for (int i = 0; i < 2; ++i) {
      hear(endpoint, {1}, kGo);
      tell(endpoint, {1}, kTag, 7 + i);
    }
    return;
  }
  const at::Tensor kept = number(-1);
  give_up(endpoint.receive({0}, kTag, kept));
  tell(endpoint, {0}, kGo);
  EXPECT_EQ(hear(endpoint, {0}, kTag), 7);
  EXPECT_EQ(value_of(kept), -1);
  give_up(endpoint.receive({0}, kTag, number(-1)));  // Nobody else keeps this tensor.
  tell(endpoint, {0}, kGo);
  EXPECT_EQ(hear(endpoint, {0}, kTag), 8);
}

TEST_P(Conformance, ACancelledReceiveIsNotWrittenToAndLeavesTheMessageToALaterOne) {
  run(2, [](Endpoint& endpoint) {
    expect_later_receive_gets_it(endpoint, [](Pending receive) {
      receive.cancel();
      EXPECT_FALSE(receive.under_way());
      EXPECT_TRUE(receive.ready());
    });
  });
}

TEST_P(Conformance, ADroppedReceiveIsNotWrittenToAndLeavesTheMessageToALaterOne) {
  run(2, [](Endpoint& endpoint) { expect_later_receive_gets_it(endpoint, [](Pending) {}); });
}

TEST_P(Conformance, AReplacedReceiveIsNotWrittenToAndLeavesTheMessageToALaterOne) {
  run(2, [](Endpoint& endpoint) {
    expect_later_receive_gets_it(endpoint, [](Pending receive) { receive = Pending(); });
  });
}

TEST_P(Conformance, AReceiveAfterItsTimeoutCanBeCancelled) {
  run(2, [](Endpoint& endpoint) {
    expect_later_receive_gets_it(endpoint, [](Pending receive) {
      thrown_by<Timeout>([&] { receive.wait(kBrief); });
      receive.cancel();
    });
  });
}

TEST_P(Conformance, CancellingOneOfSeveralReceivesKeepsTheOrderOfTheOthers) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      meet(endpoint);
      for (int i = 0; i < 3; ++i) tell(endpoint, {1}, kTag, i);
      return;
    }
    std::vector<at::Tensor> messages;
    std::vector<Pending> receives;
    for (int i = 0; i < 4; ++i) {
      messages.push_back(number(-1));
      receives.push_back(endpoint.receive({0}, kTag, messages.back()));
    }
    receives[1].cancel();
    meet(endpoint);
    wait_all(receives);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(value_of(messages[i]), (std::array{0, -1, 1, 2}[i]));
  });
}

TEST_P(Conformance, ACancelledReceiveFromAnybodyLeavesTheMessageToALaterOne) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      meet(endpoint);
      tell(endpoint, {1}, request(1), 7);
      return meet(endpoint);
    }
    const at::Tensor kept = number(-1);
    endpoint.receive_any(request(1), kept).cancel();
    meet(endpoint);
    EXPECT_EQ(hear_anybody(endpoint, request(1)), 7);
    EXPECT_EQ(value_of(kept), -1);
    meet(endpoint);
  });
}

// The sender fills memory of the same size afterwards: it would get that of the message if the
// engine had let go of it.
TEST_P(Conformance, ADroppedSendStillArrivesThoughTheSenderLetGoOfItsTensor) {
  constexpr int kCount = 5000;
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      endpoint.send({1}, kTag, pattern(kCount, at::kFloat, 1));
      std::vector<at::Tensor> others;
      for (int i = 0; i < 8; ++i) others.push_back(pattern(kCount, at::kFloat, 2));
      return meet(endpoint);
    }
    meet(endpoint);
    const at::Tensor message = pattern(kCount, at::kFloat, 3);
    endpoint.receive({0}, kTag, message).wait(kDeadline);
    EXPECT_TRUE(same_bytes(message, pattern(kCount, at::kFloat, 1)));
  });
}

// Worker 1 waits for what worker 0 never sends, and so learns that it has finished.
TEST_P(Conformance, ADroppedSendArrivesAfterItsSenderHasFinished) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 0) return tell(endpoint, {1}, kTag, 4);
    EXPECT_EQ(thrown_by<PeerLost>([&] { hear(endpoint, {0}, kGo); }).peer(), WorkerId{0});
    EXPECT_EQ(hear(endpoint, {0}, kTag), 4);
    thrown_by<PeerLost>([&] { hear(endpoint, {0}, kTag); });
  });
}

TEST_P(ConformanceOfSize, ComputePassesAtLeastTheTimeOfItsWork) {
  run([](Endpoint& endpoint) {
    for (int step = 0; step < 3; ++step) {
      const Time begin = endpoint.now();
      endpoint.compute(Step{step}, 0.004);
      EXPECT_GE(endpoint.now() - begin, 0.004);
    }
  });
}

TEST_P(Conformance, ASlowWorkerComputesLonger) {
  Cluster cluster;
  cluster.workers = 2;
  cluster.slowdowns = {{.worker = WorkerId{1}, .factor = 5, .first = Step{1}}};
  run(cluster, [](Endpoint& endpoint) {
    const Time begin = endpoint.now();
    endpoint.compute(Step{1}, 0.01);
    EXPECT_GE(endpoint.now() - begin, endpoint.self().value == 1 ? 0.05 : 0.01);
  });
}

TEST_P(ConformanceOfSize, TimeNeverGoesBackwards) {
  run([](Endpoint& endpoint) {
    Time last = endpoint.now();
    EXPECT_GE(last, 0);
    const auto look = [&] {
      const Time now = endpoint.now();
      EXPECT_GE(now, last);
      last = now;
    };
    for (int round = 0; round < 10; ++round) {
      look();
      meet(endpoint);
      look();
      endpoint.compute(Step{round}, 0.0002);
      look();
      endpoint.exclusive(look);
      endpoint.spawn(Lane{1}, [&](Endpoint& lane) { EXPECT_GE(lane.now(), last); }).wait(kDeadline);
      look();
    }
  });
}

}  // namespace
}  // namespace huddle
