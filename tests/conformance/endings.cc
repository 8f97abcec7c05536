// How a run ends: by a body that throws, by one that finishes while others still wait for it, by
// being stopped, or well.

#include "tests/conformance/conformance.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

[[noreturn]] void fail() { throw std::runtime_error("boom"); }

// Runs `action`, which must fail with PeerLost naming `peer` and the first cause, which was
// `culprit`, and goes on failing.
void expect_cause(Endpoint& endpoint, WorkerId peer, WorkerId culprit,
                  const std::function<void()>& action) {
  const PeerLost lost = thrown_by<PeerLost>(action);
  EXPECT_EQ(lost.peer(), peer);
  expect_mentions(lost.what(), {named(endpoint.self()), named(peer), named(culprit), "boom"});
  throw lost;
}

TEST_P(ConformanceOfSize, AFailingBodyEndsAllWhoWaitForItAndTheRunThrowsWhatItThrew) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run([&](Endpoint& endpoint) {
      endpoint.compute(Step{1}, 0.002);
      if (endpoint.self() == last()) fail();
      expect_cause(endpoint, last(), last(), [&] { hear(endpoint, last(), kTag); });
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

TEST_P(ConformanceOfSize, AChainOfWaitersEndsWithTheFirstCause) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run([&](Endpoint& endpoint) {
      const WorkerId next{endpoint.self().value + 1};
      endpoint.compute(Step{1}, 0.001);
      if (endpoint.self() == last()) fail();
      expect_cause(endpoint, next, last(), [&] { hear(endpoint, next, kTag); });
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

// Each worker waits in a way of its own for the last one, which fails.
TEST_P(Conformance, EveryWayToWaitLearnsOfAFailure) {
  constexpr WorkerId kCulprit{5};
  const std::vector<std::function<void(Endpoint&)>> ways = {
      [&](Endpoint& endpoint) { endpoint.receive(kCulprit, kTag, number(0)).wait(kDeadline); },
      [&](Endpoint& endpoint) { endpoint.receive_any(request(1), number(0)).wait(kDeadline); },
      [&](Endpoint& endpoint) {
        endpoint.watch(Group({{2}, kCulprit})).wait(kDeadline);
      },
      [&](Endpoint& endpoint) {
        endpoint.send(kCulprit, kTag, pattern(1 << 18, at::kFloat, 1)).wait(kDeadline);
      },
      [&](Endpoint& endpoint) {
        endpoint.spawn(Lane{1}, [&](Endpoint& lane) { hear(lane, kCulprit, kTag); })
            .wait(kDeadline);
      },
      [](Endpoint&) { fail(); }};
  const auto error = thrown_by<std::runtime_error>([&] {
    run(6, [&](Endpoint& endpoint) {
      const auto& way = ways[static_cast<std::size_t>(endpoint.self().value)];
      meet(endpoint);
      if (endpoint.self() == kCulprit) way(endpoint);
      // Whoever learns first fails too, and a receive from anybody may be told of that one before
      // the culprit.
      if (endpoint.self().value == 1) {
        const PeerLost lost = thrown_by<PeerLost>([&] { way(endpoint); });
        expect_mentions(lost.what(), {"worker 1", named(kCulprit), "boom"});
        throw lost;
      }
      expect_cause(endpoint, kCulprit, kCulprit, [&] { way(endpoint); });
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

TEST_P(Conformance, TheFirstCauseIsThrownThoughAFollowerFailsInItsOwnWay) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run(3, [](Endpoint& endpoint) {
      if (endpoint.self().value == 2) fail();
      thrown_by<PeerLost>([&] { hear(endpoint, {2}, kTag); });
      throw std::runtime_error("a follower");
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

TEST_P(Conformance, AFailureWhileTheOthersNeedNobodyIsThrownWhenTheyHaveFinished) {
  Notes<WorkerId> begun;
  Notes<WorkerId> finished;
  const auto error = thrown_by<std::runtime_error>([&] {
    run(3, [&](Endpoint& endpoint) {
      if (endpoint.self().value == 1) fail();
      begun.add(endpoint.self());
      endpoint.compute(Step{1}, 0.01);
      finished.add(endpoint.self());
    });
  });
  EXPECT_STREQ(error.what(), "boom");
  EXPECT_EQ(finished.all().size(), begun.all().size());
}

TEST_P(Conformance, AFailureLeavesWhatWasSentBefore) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run(2, [](Endpoint& endpoint) {
      if (endpoint.self().value == 1) {
        tell(endpoint, {0}, kTag, 6);
        fail();
      }
      thrown_by<PeerLost>([&] { hear(endpoint, {1}, kNever); });
      EXPECT_EQ(hear(endpoint, {1}, kTag), 6);
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

TEST_P(ConformanceOfSize, ThoseWhoWaitForAFinishedWorkerLearnThatItHasFinished) {
  const auto losses = run([&](Endpoint& endpoint) {
    if (endpoint.self() == last()) return;
    const PeerLost lost = thrown_by<PeerLost>([&] { hear(endpoint, last(), kTag); });
    EXPECT_EQ(lost.peer(), last());
    expect_mentions(lost.what(), {named(endpoint.self()), named(last()), "finished"});
  });
  EXPECT_TRUE(losses.empty());
}

TEST_P(Conformance, WaitingInVainForAFinishedWorkerEndsTheRun) {
  const PeerLost lost = thrown_by<PeerLost>([&] {
    run(3, [](Endpoint& endpoint) {
      const WorkerId next{endpoint.self().value + 1};
      if (endpoint.self().value < 2) hear(endpoint, next, kTag);
    });
  });
  EXPECT_EQ(lost.peer(), WorkerId{2});
}

// Everybody waits in a way of its own when worker 0 stops the run.
TEST_P(Conformance, StopEndsEveryWayToWaitAndTheRunThrowsInterrupted) {
  const std::vector<std::function<void(Endpoint&)>> ways = {
      [](Endpoint& endpoint) { endpoint.compute(Step{1}, 0.001); },
      [](Endpoint& endpoint) { endpoint.compute(Step{1}, 1000); },
      [](Endpoint& endpoint) { hear(endpoint, {1}, kTag); },
      [](Endpoint& endpoint) { hear_anybody(endpoint, request(1)); },
      [](Endpoint& endpoint) { endpoint.watch(Group::everyone(7)).wait(kDeadline); },
      [](Endpoint& endpoint) {
        Pending one = endpoint.receive({1}, kTag, number(0));
        Pending two = endpoint.watch(Group::everyone(7));
        Pending* const both[] = {&one, &two};
        wait_any(both, kDeadline);
      },
      [](Endpoint& endpoint) {
        endpoint.spawn(Lane{1}, [](Endpoint& lane) { lane.compute(Step{1}, 1000); })
            .wait(kDeadline);
      }};
  const auto launcher = make_launcher(7);
  Notes<WorkerId> met;  // All but those whom the stop reached on their way.
  Notes<WorkerId> interrupted;
  const auto error = thrown_by<Interrupted>([&] {
    launcher->run([&](Endpoint& endpoint) {
      meet(endpoint);
      met.add(endpoint.self());
      if (endpoint.self().value == 0) launcher->stop("enough");
      const auto end = thrown_by<Interrupted>(
          [&] { ways[static_cast<std::size_t>(endpoint.self().value)](endpoint); });
      expect_mentions(end.what(), {"enough"});
      interrupted.add(endpoint.self());
      throw end;
    });
  });
  expect_mentions(error.what(), {"enough"});
  EXPECT_EQ(interrupted.all().size(), met.all().size());
}

// Otherwise a loop that asks `ready` would never learn of the end.
TEST_P(Conformance, OperationsAreReadyOnceTheRunIsStoppedSinceTheirWaitThrows) {
  const auto launcher = make_launcher(2);
  thrown_by<Interrupted>([&] {
    launcher->run([&](Endpoint& endpoint) {
      if (endpoint.self().value == 1) return void(hear(endpoint, {0}, kTag));
      Pending receive = endpoint.receive({1}, kTag, number(0));
      launcher->stop("enough");
      EXPECT_TRUE(receive.ready());
      thrown_by<Interrupted>([&] { receive.wait(kDeadline); });
    });
  });
}

TEST_P(Conformance, AStoppedRunThrowsInterruptedThoughAllBodiesReturn) {
  const auto launcher = make_launcher(3);
  const auto error = thrown_by<Interrupted>([&] {
    launcher->run([&](Endpoint& endpoint) {
      if (endpoint.self().value == 0) launcher->stop("enough");
    });
  });
  expect_mentions(error.what(), {"enough"});
}

// The first run leaves a message behind that the second must not find.
TEST_P(RepeatedConformance, ALauncherRunsAgainAfterANormalRun) {
  const auto launcher = make_launcher(3);
  for (const int round : {1, 2}) {
    const auto losses = launcher->run([&](Endpoint& endpoint) {
      for (const WorkerId peer : peers_of(endpoint)) {
        tell(endpoint, peer, kTag, 10 * round + endpoint.self().value);
        tell(endpoint, peer, kTag);
      }
      for (const WorkerId peer : peers_of(endpoint))
        EXPECT_EQ(hear(endpoint, peer, kTag), 10 * round + peer.value);
      endpoint.spawn(Lane{1}, [](Endpoint& lane) { lane.compute(Step{1}, 0.001); }).wait(kDeadline);
    });
    EXPECT_TRUE(losses.empty());
  }
}

}  // namespace
}  // namespace huddle
