// Programs that run beside a worker, and exclusive bodies that do not run beside one another.

#include <ATen/ATen.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

constexpr Lane kOne{1};
constexpr Lane kTwo{2};

// Doubles the work until the exchange fits into it, since a loaded machine may hold programs up.
TEST_P(ConformanceOfSize, AProgramExchangesWhileItsWorkerComputes) {
  run([](Endpoint& endpoint) {
    Seconds work = 0.005;
    for (int round = 0;; ++round, work *= 2) {
      meet(endpoint);
      Time exchanged = 0;
      Pending program = endpoint.spawn(kOne, [&](Endpoint& lane) {
        for (const WorkerId peer : peers_of(lane))
          tell(lane, peer, in_lane(kOne, kTag), lane.self().value);
        for (const WorkerId peer : peers_of(lane))
          EXPECT_EQ(hear(lane, peer, in_lane(kOne, kTag)), peer.value);
        exchanged = lane.now();
      });
      endpoint.compute(Step{round}, work);
      const Time computed = endpoint.now();
      program.wait(kDeadline);
      // All must go on or stop together: whoever needs another round says so.
      const double mine = exchanged < computed ? 1 : 0;
      for (const WorkerId peer : peers_of(endpoint)) tell(endpoint, peer, kTag, mine);
      double all = mine;
      for (const WorkerId peer : peers_of(endpoint)) all *= hear(endpoint, peer, kTag);
      if (all == 1) return;
      if (work > 3) {
        ADD_FAILURE() << "the program did not run before its worker had computed for " << work
                      << " s";
        return;
      }
    }
  });
}

TEST_P(Conformance, AProgramHasTheEndpointOfItsWorker) {
  run(3, [](Endpoint& endpoint) {
    endpoint
        .spawn(kOne,
               [&](Endpoint& lane) {
                 EXPECT_EQ(lane.self(), endpoint.self());
                 EXPECT_EQ(lane.workers(), 3);
               })
        .wait(kDeadline);
  });
}

// Nobody ends before all have been answered: a service learns of ends, too.
TEST_P(Conformance, AWorkerAndItsProgramSendEachOtherMessages) {
  run(2, [](Endpoint& endpoint) {
    const Tag request{Kind::control, Purpose::request, Lane{5}, {}};
    const Tag answer{Kind::control, Purpose::message, Lane{5}, {}};
    const WorkerId self = endpoint.self();
    Pending service = endpoint.spawn(Lane{5}, [&](Endpoint& lane) {
      at::Tensor number = at::zeros({1});
      Pending asked = lane.receive_any(request, number);
      Pending* const waited = &asked;
      wait_any(std::span(&waited, 1), kDeadline);
      EXPECT_EQ(asked.from(), self);
      asked.wait(kDeadline);
      lane.send(self, answer, number * 2).wait(kDeadline);
    });
    at::Tensor doubled = at::zeros({1});
    Pending answered = endpoint.receive(self, answer, doubled);
    endpoint.send(self, request, at::full({1}, 21.0)).wait(kDeadline);
    answered.wait(kDeadline);
    EXPECT_EQ(doubled.item<float>(), 42);
    service.wait(kDeadline);
    for (const WorkerId peer : peers_of(endpoint)) tell(endpoint, peer, kTag, 1);
    for (const WorkerId peer : peers_of(endpoint)) hear(endpoint, peer, kTag);
  });
}

TEST_P(Conformance, ProgramsOfOneLaneRunOneAfterAnotherInOrder) {
  run(2, [](Endpoint& endpoint) {
    std::vector<int> order;
    std::vector<Pending> programs;
    for (int i = 0; i < 8; ++i)
      programs.push_back(endpoint.spawn(kOne, [&order, i](Endpoint& lane) {
        order.push_back(i);
        lane.compute(Step{0}, 0.001 * (8 - i));
        order.push_back(i);
      }));
    wait_all(programs);
    EXPECT_EQ(order, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}));
  });
}

// On each worker lane 1 waits for the peer's lane 2, which is spawned later: one lane behind the
// other would be a deadlock.
TEST_P(Conformance, ProgramsOfDifferentLanesRunSideBySide) {
  run(2, [](Endpoint& endpoint) {
    const WorkerId peer = peers_of(endpoint).front();
    Pending one = endpoint.spawn(
        kOne, [&](Endpoint& lane) { EXPECT_EQ(hear(lane, peer, in_lane(kTwo, kTag)), 2); });
    Pending two = endpoint.spawn(kTwo, [&](Endpoint& lane) {
      lane.compute(Step{0}, 0.002);
      tell(lane, peer, in_lane(kTwo, kTag), 2);
    });
    one.wait(kDeadline);
    two.wait(kDeadline);
  });
}

// Lane l waits for the peer's lane l + 1, and the last one for nobody.
TEST_P(Conformance, ManyLanesRunAtOnce) {
  constexpr int kPrograms = 20;
  run(2, [](Endpoint& endpoint) {
    const WorkerId peer = peers_of(endpoint).front();
    std::vector<Pending> programs;
    for (int i = 1; i <= kPrograms; ++i)
      programs.push_back(
          endpoint.spawn(Lane{static_cast<std::uint8_t>(i)}, [peer, i](Endpoint& lane) {
            const auto tag = [](int number) {
              return in_lane({static_cast<std::uint8_t>(number)}, kTag);
            };
            if (i < kPrograms) {
              EXPECT_EQ(hear(lane, peer, tag(i + 1)), i + 1);
            }
            tell(lane, peer, tag(i), i);
          }));
    wait_all(programs);
    EXPECT_EQ(hear(endpoint, peer, in_lane(kOne, kTag)), 1);
  });
}

TEST_P(Conformance, WhatAProgramThrowsIsThrownWhereItIsWaitedFor) {
  run(2, [](Endpoint& endpoint) {
    Pending failing = endpoint.spawn(kOne, [](Endpoint&) { throw std::runtime_error("boom"); });
    bool ran = false;
    Pending next = endpoint.spawn(kOne, [&](Endpoint&) { ran = true; });
    next.wait(kDeadline);
    EXPECT_TRUE(ran);
    EXPECT_TRUE(failing.ready());
    EXPECT_STREQ(thrown_by<std::runtime_error>([&] { failing.wait(kDeadline); }).what(), "boom");
    meet(endpoint);
  });
}

TEST_P(Conformance, AProgramIsReadyOnceItHasEndedAndADeadlineLeavesItUnderWay) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 1) {
      hear(endpoint, {0}, kTag);
      return tell(endpoint, {0}, in_lane(kOne, kTag));
    }
    endpoint.compute(Step{3}, 0);
    Pending program =
        endpoint.spawn(kOne, [](Endpoint& lane) { hear(lane, {1}, in_lane(kOne, kTag)); });
    EXPECT_FALSE(program.ready());
    const Timeout late = thrown_by<Timeout>([&] { program.wait(kBrief); });
    expect_mentions(late.what(), {"worker 0", "step 3"});
    EXPECT_TRUE(program.under_way());
    EXPECT_FALSE(program.ready());
    tell(endpoint, {1}, kTag);
    EXPECT_TRUE(becomes_ready(endpoint, program));
    program.wait(kDeadline);
  });
}

// A program uses what belongs to its spawner, so it must be over when the Pending is gone, whatever
// it waits for.
TEST_P(Conformance, ADroppedOrCancelledProgramHasEndedWhenThePendingIsGone) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      bool waits = false;
      bool ended = false;
      const auto program = [&](Endpoint& lane) {
        waits = true;
        try {
          hear(lane, {1}, in_lane(kOne, kTag));
        } catch (...) {
          ended = true;
          throw;
        }
      };
      { const Pending dropped = endpoint.spawn(kOne, program); }
      EXPECT_EQ(ended, waits) << "a program that had begun outlived its Pending";
      waits = ended = false;
      endpoint.spawn(kOne, program).cancel();
      EXPECT_EQ(ended, waits);
      // The lane works on, and one program's end is not the next one's.
      endpoint.spawn(kOne, [](Endpoint& lane) { tell(lane, {1}, kTag, 7); }).wait(kDeadline);
    } else {
      EXPECT_EQ(hear(endpoint, {0}, kTag), 7);
    }
    meet(endpoint);
  });
}

TEST_P(Conformance, ProgramsSpawnPrograms) {
  run(2, [](Endpoint& endpoint) {
    const WorkerId peer = peers_of(endpoint).front();
    endpoint
        .spawn(kOne,
               [peer](Endpoint& one) {
                 Pending inner = one.spawn(kTwo, [peer](Endpoint& two) {
                   tell(two, peer, in_lane(kTwo, kTag), 5);
                   throw std::runtime_error("inner");
                 });
                 EXPECT_EQ(hear(one, peer, in_lane(kTwo, kTag)), 5);
                 EXPECT_STREQ(thrown_by<std::runtime_error>([&] { inner.wait(kDeadline); }).what(),
                              "inner");
               })
        .wait(kDeadline);
  });
}

// Says so when a program lets go of what it holds, be it by an exception.
struct Unwinding {
  Notes<int>& notes;
  ~Unwinding() { notes.add(0); }
};

// The body of worker 0 ends once worker 1 has heard from all its programs. Worker 1 then learns
// that worker 0 has finished: the programs did not turn a good end into a loss.
TEST_P(Conformance, ProgramsThatStillRunWhenTheBodyEndsAreEnded) {
  const std::vector<std::function<void(Endpoint&)>> ways = {
      [](Endpoint& lane) { hear(lane, {1}, kNever); },
      [](Endpoint& lane) { hear_anybody(lane, request(1)); },
      [](Endpoint& lane) { lane.compute(Step{0}, 1000); },
      [](Endpoint& lane) { lane.watch(Group::everyone(2)).wait(kDeadline); }};
  Notes<int> begun;
  Notes<int> unwound;
  const auto losses = run(2, [&](Endpoint& endpoint) {
    if (endpoint.self().value == 1) {
      for (std::size_t i = 0; i < ways.size(); ++i) hear(endpoint, {0}, in_lane(kOne, kTag));
      tell(endpoint, {0}, kTag);
      const PeerLost ended = thrown_by<PeerLost>([&] { hear(endpoint, {0}, kNever); });
      return expect_mentions(ended.what(), {"finished"});
    }
    std::vector<Pending> programs;
    for (std::size_t i = 0; i < ways.size(); ++i)
      programs.push_back(endpoint.spawn(Lane{static_cast<std::uint8_t>(i + 1)},
                                        [&ways, &begun, &unwound, i](Endpoint& lane) {
                                          const Unwinding unwinding{unwound};
                                          begun.add(0);
                                          tell(lane, {1}, in_lane(kOne, kTag));
                                          ways[i](lane);
                                          ADD_FAILURE() << "the program came to its end";
                                        }));
    hear(endpoint, {1}, kTag);
  });
  EXPECT_TRUE(losses.empty());
  EXPECT_EQ(unwound.all().size(), begun.all().size());
}

TEST_P(Conformance, AProgramThatIsDroppedBeforeItBeganNeverBegins) {
  run(2, [](Endpoint& endpoint) {
    const auto never = [](Endpoint&) { ADD_FAILURE() << "it began"; };
    bool ran = false;
    Pending first = endpoint.spawn(kOne, [](Endpoint& lane) { lane.compute(Step{0}, 1000); });
    { const Pending dropped = endpoint.spawn(kOne, never); }
    endpoint.spawn(kOne, never).cancel();
    Pending last = endpoint.spawn(kOne, [&](Endpoint&) { ran = true; });
    first.cancel();
    last.wait(kDeadline);
    EXPECT_TRUE(ran);
  });
}

// Worker 1 lets worker 0 end when the inner programs run.
TEST_P(Conformance, AProgramThatIsEndedEndsTheProgramsThatItSpawned) {
  constexpr int kInner = 5;
  Notes<int> begun;
  Notes<int> unwound;
  run(2, [&](Endpoint& endpoint) {
    if (endpoint.self().value == 1) {
      for (int i = 0; i < kInner; ++i) hear(endpoint, {0}, in_lane(kOne, kTag));
      return tell(endpoint, {0}, kTag);
    }
    Pending outer = endpoint.spawn(Lane{kLanes - 1}, [&](Endpoint& lane) {
      std::vector<Pending> inner;
      for (int i = 1; i <= kInner; ++i)
        inner.push_back(lane.spawn(Lane{static_cast<std::uint8_t>(i)}, [&](Endpoint& own) {
          const Unwinding unwinding{unwound};
          begun.add(0);
          tell(own, {1}, in_lane(kOne, kTag));
          own.compute(Step{0}, 1000);
        }));
      wait_all(inner);
    });
    hear(endpoint, {1}, kTag);
    const Time begin = endpoint.now();
    outer.cancel();
    EXPECT_LT(endpoint.now() - begin, kDeadline.after / 2) << "only the deadline ended it";
  });
  EXPECT_EQ(unwound.all().size(), begun.all().size());
}

// The spawning program is ended at any point of its loop, which an engine must not trip over.
TEST_P(Conformance, AProgramMaySpawnOthersWhileTheBodyEnds) {
  run(2, [](Endpoint& endpoint) {
    Pending outer = endpoint.spawn(Lane{kLanes - 1}, [](Endpoint& lane) {
      std::vector<Pending> inner;
      for (int i = kLanes - 2; i > 0; --i)
        inner.push_back(lane.spawn(Lane{static_cast<std::uint8_t>(i)},
                                   [](Endpoint& own) { own.compute(Step{0}, 1000); }));
    });
    endpoint.compute(Step{0}, 0.0005 * endpoint.self().value);
  });
}

TEST_P(Conformance, ProgramsOfAFailingBodyAreEnded) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run(2, [](Endpoint& endpoint) {
      Pending program =
          endpoint.spawn(kOne, [](Endpoint& lane) { hear_anybody(lane, request(1)); });
      if (endpoint.self().value == 1) throw std::runtime_error("boom");
      program.wait(kDeadline);
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

TEST_P(Conformance, AProgramLearnsOfALossLikeItsWorker) {
  Cluster cluster;
  cluster.workers = 2;
  cluster.deaths = {{WorkerId{1}, Step{2}}};
  run(cluster, [](Endpoint& endpoint) {
    if (endpoint.self().value == 1) return endpoint.compute(Step{2}, 0);
    Pending program = endpoint.spawn(kOne, [](Endpoint& lane) { hear(lane, {1}, kNever); });
    EXPECT_EQ(thrown_by<PeerLost>([&] { program.wait(kDeadline); }).peer(), WorkerId{1});
  });
}

// The flag and the counter are plain variables: what guards them is `exclusive` alone.
TEST_P(Conformance, ExclusiveBodiesOfOneWorkerNeverOverlap) {
  constexpr int kBodies = 10;
  run(2, [](Endpoint& endpoint) {
    bool inside = false;
    int bodies = 0;
    const auto work = [&](Endpoint& own) {
      for (int i = 0; i < kBodies; ++i)
        own.exclusive([&] {
          EXPECT_FALSE(inside);
          inside = true;
          own.compute(Step{0}, 0.0002);
          inside = false;
          ++bodies;
        });
    };
    std::vector<Pending> programs;
    for (const int lane : {1, 2, 3})
      programs.push_back(endpoint.spawn(Lane{static_cast<std::uint8_t>(lane)}, work));
    work(endpoint);
    wait_all(programs);
    EXPECT_EQ(bodies, 4 * kBodies);
  });
}

TEST_P(Conformance, ExclusiveBodiesOfDifferentWorkersDoNotExcludeOneAnother) {
  run(3, [](Endpoint& endpoint) { endpoint.exclusive([&] { meet(endpoint); }); });
}

TEST_P(Conformance, AnExclusiveBodyInsideAnotherOneIsAnErrorAndNoDeadlock) {
  run(2, [](Endpoint& endpoint) {
    const auto nested = [](Endpoint& own) {
      own.exclusive([&] {
        const auto inner = [&] { own.exclusive([] { ADD_FAILURE() << "it began"; }); };
        expect_mentions(thrown_by<LogicError>(inner).what(), {"exclusive"});
      });
      bool ran = false;
      own.exclusive([&] { ran = true; });
      EXPECT_TRUE(ran);
    };
    nested(endpoint);
    endpoint.spawn(kOne, nested).wait(kDeadline);
    meet(endpoint);
  });
}

// The program wants the same, so neither could go on.
TEST_P(Conformance, AnExclusiveBodyThatWaitsForAProgramIsAnErrorAndNoDeadlock) {
  run(2, [](Endpoint& endpoint) {
    bool ran = false;
    Pending program;
    endpoint.exclusive([&] {
      program = endpoint.spawn(kOne, [&](Endpoint& lane) { lane.exclusive([&] { ran = true; }); });
      const auto waiting = [&] { program.wait(kDeadline); };
      expect_mentions(thrown_by<LogicError>(waiting).what(), {"exclusive", "program"});
      Pending message = endpoint.receive({1 - endpoint.self().value}, kTag, number(-1));
      Pending* const both[] = {&message, &program};
      thrown_by<LogicError>([&] { wait_any(both, kDeadline); });
    });
    program.wait(kDeadline);
    EXPECT_TRUE(ran);
    meet(endpoint);
  });
}

TEST_P(Conformance, AnExclusiveBodyThatThrowsLetsTheNextOneIn) {
  run(1, [](Endpoint& endpoint) {
    const auto failing = [&] { endpoint.exclusive([] { throw std::runtime_error("boom"); }); };
    EXPECT_STREQ(thrown_by<std::runtime_error>(failing).what(), "boom");
    bool ran = false;
    endpoint.spawn(kOne, [&](Endpoint& lane) { lane.exclusive([&] { ran = true; }); })
        .wait(kDeadline);
    EXPECT_TRUE(ran);
  });
}

}  // namespace
}  // namespace huddle
