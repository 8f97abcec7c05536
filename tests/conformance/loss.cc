// What the others learn when a worker dies: who, promptly, and not before they have what it had
// sent.

#include <map>

#include "tests/conformance/conformance.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

// The victim's part: it dies at step 2, where it begins to compute.
constexpr Step kDeath{2};

void die(Endpoint& endpoint) {
  endpoint.compute(kDeath, 0);
  ADD_FAILURE() << "worker " << endpoint.self().value << " lived on";
}

Cluster with_deaths(int workers, const std::vector<Death>& deaths) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.deaths = deaths;
  return cluster;
}

// Returns once this worker has learnt of the loss of `worker`.
PeerLost learn_of(Endpoint& endpoint, WorkerId worker) {
  return thrown_by<PeerLost>([&] { hear(endpoint, worker, kNever); });
}

TEST_P(ConformanceOfSize, ThoseWhoWaitToReceiveLearnWhoDied) {
  Notes<std::string> texts;
  const auto losses = run({{last(), kDeath}}, [&](Endpoint& endpoint) {
    endpoint.compute(Step{1}, 0.003);
    if (endpoint.self() == last()) return die(endpoint);
    const at::Tensor message = number(-1);
    Pending receive = endpoint.receive(last(), kTag, message);
    const PeerLost lost = thrown_by<PeerLost>([&] { receive.wait(kDeadline); });
    EXPECT_EQ(lost.peer(), last());
    expect_mentions(lost.what(), {named(endpoint.self()), "step 1", named(last())});
    EXPECT_EQ(value_of(message), -1);
    EXPECT_TRUE(receive.ready());
    texts.add(lost.what());
  });
  expect_only_loss(losses, last());
  for (const std::string& text : texts.all())
    for (const Loss& loss : losses) expect_mentions(text, {loss.reason});
}

// Large, so that no engine has sent it on before the victim takes it.
TEST_P(ConformanceOfSize, ThoseWhoSendLearnWhoDied) {
  const auto losses = run({{last(), kDeath}}, [&](Endpoint& endpoint) {
    endpoint.compute(Step{1}, 0);
    if (endpoint.self() == last()) {
      meet(endpoint);
      return die(endpoint);
    }
    const at::Tensor data = pattern(1 << 18, at::kFloat, 1);
    Pending before = endpoint.send(last(), kTag, data);
    meet(endpoint);
    const PeerLost lost = thrown_by<PeerLost>([&] { before.wait(kDeadline); });
    EXPECT_EQ(lost.peer(), last());
    expect_mentions(lost.what(), {named(endpoint.self()), "step 1", named(last())});
    Pending after = endpoint.send(last(), kTag, data);
    EXPECT_EQ(thrown_by<PeerLost>([&] { after.wait(kDeadline); }).peer(), last());
  });
  expect_only_loss(losses, last());
}

TEST_P(ConformanceOfSize, ThoseWhoComputeAndNeedNobodyFinish) {
  Notes<WorkerId> survivors;
  Notes<WorkerId> finished;
  const auto losses = run({{last(), kDeath}}, [&](Endpoint& endpoint) {
    if (endpoint.self() != last()) survivors.add(endpoint.self());
    for (int step = 0; step < 5; ++step) endpoint.compute(Step{step}, 0.001);
    EXPECT_NE(endpoint.self(), last());
    finished.add(endpoint.self());
  });
  expect_only_loss(losses, last());
  EXPECT_EQ(finished.all().size(), survivors.all().size());
}

TEST_P(Conformance, ALossIsLearntWhetherItHappensBeforeOrAfterTheReceiveBegins) {
  run(with_deaths(3, {{WorkerId{2}, kDeath}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 2) return die(endpoint);
    EXPECT_EQ(learn_of(endpoint, {2}).peer(), WorkerId{2});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(learn_of(endpoint, {2}).peer(), WorkerId{2});
  });
}

TEST_P(Conformance, TheSurvivorsGoOnWithOneAnother) {
  run(with_deaths(4, {{WorkerId{2}, kDeath}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 2) return die(endpoint);
    learn_of(endpoint, {2});
    std::vector<WorkerId> survivors = peers_of(endpoint);
    std::erase(survivors, WorkerId{2});
    for (const WorkerId peer : survivors) tell(endpoint, peer, kTag, endpoint.self().value);
    for (const WorkerId peer : survivors) EXPECT_EQ(hear(endpoint, peer, kTag), peer.value);
  });
}

TEST_P(Conformance, WaitAnyReturnsTheReceiveWhosePeerDied) {
  run(with_deaths(3, {{WorkerId{2}, kDeath}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 2) return die(endpoint);
    if (endpoint.self().value == 1) {
      hear(endpoint, {0}, kTag);
      return tell(endpoint, {0}, kTag, 1);
    }
    const at::Tensor message = number(-1);
    Pending living = endpoint.receive({1}, kTag, message);
    Pending dying = endpoint.receive({2}, kTag, number(-1));
    Pending* const both[] = {&living, &dying};
    EXPECT_EQ(wait_any(both, kDeadline), 1u);
    EXPECT_EQ(thrown_by<PeerLost>([&] { dying.wait(kDeadline); }).peer(), WorkerId{2});
    tell(endpoint, {1}, kTag);
    living.wait(kDeadline);
    EXPECT_EQ(value_of(message), 1);
  });
}

TEST_P(ConformanceOfSize, ADeathInsideAnExchangeComesAfterTheGivenNumberOfOperations) {
  if (workers() == 1) GTEST_SKIP() << "nobody to exchange with";
  const auto losses = run({{last(), kDeath, 2}}, [&](Endpoint& endpoint) {
    endpoint.compute(Step{1}, 0);
    if (endpoint.self() == last()) {
      for (int i = 0; i < 5; ++i)
        endpoint.send({0}, numbered(9), number(i));  // Of another step: they do not count.
      endpoint.compute(kDeath, 0);
      for (int i = 0; i < 3; ++i) tell(endpoint, {0}, kTag, i);
      ADD_FAILURE() << "worker " << endpoint.self().value << " lived on";
    } else if (endpoint.self().value == 0) {
      for (int i = 0; i < 2; ++i) EXPECT_EQ(hear(endpoint, last(), kTag), i);
      EXPECT_EQ(thrown_by<PeerLost>([&] { hear(endpoint, last(), kTag); }).peer(), last());
    }
  });
  expect_only_loss(losses, last());
}

TEST_P(Conformance, WhatAWorkerSentBeforeItsDeathCanStillBeReceived) {
  run(with_deaths(2, {{WorkerId{1}, kDeath}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 1) {
      for (int i = 0; i < 5; ++i) tell(endpoint, {0}, kTag, i);
      return die(endpoint);
    }
    learn_of(endpoint, {1});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(hear(endpoint, {1}, kTag), i);
    EXPECT_EQ(thrown_by<PeerLost>([&] { hear(endpoint, {1}, kTag); }).peer(), WorkerId{1});
  });
}

// Worker 0 receives until it knows of all others' ends, then tries once more. Those with odd
// numbers die, the others finish.
TEST_P(ConformanceOfSize, ReceivingFromAnybodyTellsOfEachEndOnceAndAfterItsMessages) {
  constexpr int kMessages = 4;
  std::vector<Death> deaths;
  for (int worker = 1; worker < workers(); worker += 2) deaths.push_back({{worker}, kDeath});
  run(deaths, [&](Endpoint& endpoint) {
    const int self = endpoint.self().value;
    if (self > 0) {
      endpoint.compute(Step{1}, 0.001 * (self % 3));
      for (int i = 0; i < kMessages; ++i) tell(endpoint, {0}, request(1), 100 * self + i);
      return self % 2 == 1 ? die(endpoint) : void();
    }
    std::vector<int> heard(static_cast<std::size_t>(endpoint.workers()));
    std::vector<int> ends(heard.size());
    const int events = (kMessages + 1) * (endpoint.workers() - 1);
    for (int i = 0; i < events; ++i) try {
        const int value = static_cast<int>(hear_anybody(endpoint, request(1)));
        EXPECT_EQ(value % 100, heard.at(static_cast<std::size_t>(value / 100))++);
      } catch (const PeerLost& lost) {
        const auto who = static_cast<std::size_t>(lost.peer().value);
        EXPECT_EQ(heard.at(who), kMessages);
        EXPECT_EQ(++ends.at(who), 1);
        expect_mentions(lost.what(), {"worker 0", named(lost.peer())});
      }
    thrown_by<Timeout>([&] { endpoint.receive_any(request(1), number(-1)).wait(kBrief); });
  });
}

// Worker 0 has several receives under way when each of the others sends one request and ends while
// that travels. `posted_late` of the receives are posted in the meantime.
void run_beside_travelling_requests(const Conformance& engine, int posted_late) {
  constexpr int kReceives = 3;  // The message and two ends.
  Cluster cluster = with_deaths(3, {});
  cluster.topology.latency_in_rack = 0.05;
  cluster.topology.nic_bytes_per_second = 1e6;
  const auto tag_of = [](WorkerId sender) {
    Tag tag = request(1 + static_cast<std::uint32_t>(sender.value));
    tag.kind = sender.value == 1 ? Kind::control : Kind::payload;  // They travel in different ways.
    return tag;
  };
  engine.run(cluster, [&](Endpoint& endpoint) {
    if (endpoint.self().value > 0) {
      hear(endpoint, {0}, kTag);
      return tell(endpoint, {0}, tag_of(endpoint.self()));
    }
    std::map<WorkerId, std::vector<Pending>> receives;
    const auto post_up_to = [&](std::size_t count) {
      for (const WorkerId sender : peers_of(endpoint))
        while (receives[sender].size() < count)
          receives[sender].push_back(endpoint.receive_any(tag_of(sender), number(-1)));
    };
    post_up_to(static_cast<std::size_t>(kReceives - posted_late));
    for (const WorkerId sender : peers_of(endpoint)) tell(endpoint, sender, kTag);
    endpoint.compute(Step{0}, 0.075);  // The greeting has arrived, the request not yet.
    post_up_to(kReceives);
    for (auto& [sender, pendings] : receives) {
      bool heard = false;
      while (!pendings.empty()) {
        std::vector<Pending*> all;
        for (Pending& each : pendings) all.push_back(&each);
        const std::size_t first = wait_any(all, kDeadline);
        try {
          pendings[first].wait(kDeadline);
          heard = true;
        } catch (const PeerLost& lost) {
          EXPECT_TRUE(heard || lost.peer() != sender) << "the end came before the message";
        }
        pendings.erase(pendings.begin() + static_cast<std::ptrdiff_t>(first));
      }
      EXPECT_TRUE(heard);
    }
  });
}

TEST_P(Conformance, AnEndDoesNotOvertakeARequestWhereSeveralReceivesArePosted) {
  run_beside_travelling_requests(*this, 0);
}

TEST_P(Conformance, AnEndDoesNotOvertakeARequestWhereAReceiveIsPostedWhileItTravels) {
  run_beside_travelling_requests(*this, 2);
}

TEST_P(ConformanceOfSize, AWatchTellsOfALostMember) {
  const auto losses = run({{last(), kDeath}}, [&](Endpoint& endpoint) {
    endpoint.compute(Step{1}, 0.003);
    if (endpoint.self() == last()) return die(endpoint);
    Pending watch = endpoint.watch(Group::everyone(workers()));
    const PeerLost lost = thrown_by<PeerLost>([&] { watch.wait(kDeadline); });
    EXPECT_EQ(lost.peer(), last());
    expect_mentions(lost.what(), {named(endpoint.self()), "step 1", named(last())});
  });
  expect_only_loss(losses, last());
}

TEST_P(Conformance, AWatchTellsOfALossThatHappenedBefore) {
  run(with_deaths(3, {{WorkerId{2}, kDeath}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 2) return die(endpoint);
    learn_of(endpoint, {2});
    Pending watch = endpoint.watch(Group::everyone(3));
    EXPECT_TRUE(watch.ready());
    EXPECT_EQ(thrown_by<PeerLost>([&] { watch.wait(kDeadline); }).peer(), WorkerId{2});
  });
}

TEST_P(Conformance, AWatchDoesNotTellOfAMemberThatFinished) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.self().value == 1) return;
    Pending early = endpoint.watch(Group::everyone(2));
    learn_of(endpoint, {1});
    Pending late = endpoint.watch(Group::everyone(2));
    EXPECT_FALSE(early.ready());
    EXPECT_FALSE(late.ready());
    Pending* const both[] = {&early, &late};
    thrown_by<Timeout>([&] { wait_any(both, kBrief); });
  });
}

TEST_P(Conformance, AWatchDoesNotTellOfOthersThanItsMembers) {
  run(with_deaths(3, {{WorkerId{2}, kDeath}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 2) return die(endpoint);
    Pending watch = endpoint.watch(Group({{0}, {1}}));
    learn_of(endpoint, {2});
    EXPECT_FALSE(watch.ready());
    watch.cancel();
    Pending dropped = endpoint.watch(Group::everyone(3));
  });
}

// Worker 0 waits for worker 1, which gives up because of worker 2.
TEST_P(Conformance, ALossIsPassedOnWithItsFirstCause) {
  const PeerLost first = thrown_by<PeerLost>([&] {
    run(with_deaths(3, {{WorkerId{2}, kDeath}}), [&](Endpoint& endpoint) {
      if (endpoint.self().value == 2) return die(endpoint);
      if (endpoint.self().value == 1) hear(endpoint, {2}, kTag);
      const PeerLost lost = learn_of(endpoint, {1});
      EXPECT_EQ(lost.peer(), WorkerId{1});
      expect_mentions(lost.what(), {"worker 0", "worker 1", "worker 2 "});
    });
  });
  EXPECT_EQ(first.peer(), WorkerId{2});
}

// A worker dies as a whole: neither its computing body nor its other programs outlive the one in
// which death struck.
TEST_P(Conformance, ADeathInsideAProgramEndsItsWorker) {
  const auto losses = run(with_deaths(2, {{WorkerId{1}, kDeath, 1}}), [&](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      EXPECT_EQ(hear(endpoint, {1}, kTag), 0);
      EXPECT_EQ(learn_of(endpoint, {1}).peer(), WorkerId{1});
      return;
    }
    endpoint.compute(kDeath, 0);
    Pending program = endpoint.spawn(Lane{1}, [](Endpoint& lane) {
      for (int i = 0; i < 3; ++i) tell(lane, {0}, kTag, i);
    });
    endpoint.compute(kDeath, 2 * kDeadline.after);
    ADD_FAILURE() << "worker 1 lived on";
  });
  expect_only_loss(losses, {1});
}

}  // namespace
}  // namespace huddle
