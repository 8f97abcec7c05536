// What messages are promised: each arrives once, whole, in order, and only where its tag says.

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "tests/conformance/conformance.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

constexpr WorkerId kSender{0};
constexpr WorkerId kReceiver{1};

// Which operations are posted before the others begin.
enum class First { sends, receives };

// Orders in which to post n operations: all rotations, forwards and backwards. For three these are
// all there are.
std::vector<std::vector<std::size_t>> orders(std::size_t n) {
  std::vector<std::vector<std::size_t>> result;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    result.push_back(order);
    result.emplace_back(order.rbegin(), order.rend());
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  return result;
}

// For two workers: one message under each tag, in every order of sending and of receiving, first
// with the receives waiting for the sends and then the other way round. Message i says i.
void expect_apart(Endpoint& endpoint, const std::vector<Tag>& tags) {
  const auto send_all = [&](const std::vector<std::size_t>& order) {
    for (const std::size_t i : order) tell(endpoint, kReceiver, tags[i], static_cast<double>(i));
  };
  for (const auto& sending : orders(tags.size()))
    for (const auto& receiving : orders(tags.size()))
      for (const First first : {First::receives, First::sends}) {
        if (endpoint.self() == kSender) {
          if (first == First::sends) send_all(sending);
          meet(endpoint);
          if (first == First::receives) send_all(sending);
          meet(endpoint);
          continue;
        }
        std::vector<Pending> receives;
        std::vector<at::Tensor> messages(tags.size());
        if (first == First::sends) meet(endpoint);
        for (const std::size_t i : receiving) {
          messages[i] = number(-1);
          receives.push_back(endpoint.receive(kSender, tags[i], messages[i]));
        }
        if (first == First::receives) meet(endpoint);
        wait_all(receives);
        for (std::size_t i = 0; i < tags.size(); ++i) EXPECT_EQ(value_of(messages[i]), i);
        meet(endpoint);
      }
}

TEST_P(ConformanceOfSize, EveryWorkerKnowsItselfAndHowManyThereAre) {
  Notes<int> ids;
  run([&](Endpoint& endpoint) {
    EXPECT_EQ(endpoint.workers(), workers());
    ids.add(endpoint.self().value);
  });
  const std::set<int> distinct(ids.all().begin(), ids.all().end());
  EXPECT_EQ(distinct.size(), ids.all().size());
  ASSERT_FALSE(distinct.empty());
  EXPECT_GE(*distinct.begin(), 0);
  EXPECT_LT(*distinct.rbegin(), workers());
}

TEST_P(ConformanceOfSize, KeepsTheOrderOfMessagesPerPeerAndTag) {
  constexpr int kMessages = 12;
  run([&](Endpoint& endpoint) {
    const auto says = [](WorkerId who, Tag tag, int i) {
      return 10'000.0 * who.value + 1000.0 * tag.sequence.value + i;
    };
    std::vector<Pending> sends;
    for (int i = 0; i < kMessages; ++i)
      for (const WorkerId peer : peers_of(endpoint))
        for (const Tag tag : {numbered(1), numbered(2)})
          sends.push_back(endpoint.send(peer, tag, number(says(endpoint.self(), tag, i))));
    for (const Tag tag : {numbered(2), numbered(1)})
      for (const WorkerId peer : peers_of(endpoint))
        for (int i = 0; i < kMessages; ++i)
          EXPECT_EQ(hear(endpoint, peer, tag), says(peer, tag, i));
    wait_all(sends);
  });
}

TEST_P(ConformanceOfSize, KeepsTheOrderWhenAllReceivesWaitBeforeTheFirstSend) {
  constexpr int kMessages = 12;
  run([&](Endpoint& endpoint) {
    std::vector<Pending> operations;
    std::vector<at::Tensor> messages;
    for (const WorkerId peer : peers_of(endpoint))
      for (int i = 0; i < kMessages; ++i) {
        messages.push_back(number(-1));
        operations.push_back(endpoint.receive(peer, numbered(1), messages.back()));
      }
    meet(endpoint);
    for (const WorkerId peer : peers_of(endpoint))
      for (int i = 0; i < kMessages; ++i)
        operations.push_back(
            endpoint.send(peer, numbered(1), number(100 * endpoint.self().value + i)));
    wait_all(operations);
    auto message = messages.begin();
    for (const WorkerId peer : peers_of(endpoint))
      for (int i = 0; i < kMessages; ++i) EXPECT_EQ(value_of(*message++), 100 * peer.value + i);
  });
}

TEST_P(Conformance, KeepsSequencesApart) {
  run(2, [](Endpoint& endpoint) {
    expect_apart(endpoint, {numbered(0), numbered(1), numbered(kSequences - 1)});
  });
}

TEST_P(Conformance, KeepsPurposesApart) {
  run(2, [](Endpoint& endpoint) {
    std::vector<Tag> tags(5);
    tags[0].purpose = Purpose::average;
    tags[1].purpose = Purpose::broadcast;
    tags[2].purpose = Purpose::gather;
    tags[3].purpose = Purpose::barrier;
    tags[4].purpose = Purpose::message;
    expect_apart(endpoint, tags);
  });
}

TEST_P(Conformance, KeepsKindsApart) {
  run(2, [](Endpoint& endpoint) {
    std::vector<Tag> tags(2);
    tags[0].kind = Kind::payload;
    tags[1].kind = Kind::control;
    expect_apart(endpoint, tags);
  });
}

TEST_P(Conformance, KeepsLanesApart) {
  run(2, [](Endpoint& endpoint) {
    std::vector<Tag> tags;
    for (const int lane : {0, 1, 2, kLanes - 1})
      tags.push_back(in_lane({static_cast<std::uint8_t>(lane)}, numbered(3)));
    expect_apart(endpoint, tags);
  });
}

TEST_P(Conformance, KeepsSendersApart) {
  run(3, [](Endpoint& endpoint) {
    if (endpoint.self().value > 0) return tell(endpoint, {0}, numbered(1), endpoint.self().value);
    EXPECT_EQ(hear(endpoint, {2}, numbered(1)), 2);
    EXPECT_EQ(hear(endpoint, {1}, numbered(1)), 1);
  });
}

// Everybody sends to worker 0, which takes one message after another or posts all receives before
// anybody sends. Nobody leaves before it has all.
void expect_all_from_anybody(Endpoint& endpoint, First first) {
  constexpr int kMessages = 10;
  if (endpoint.self().value > 0) {
    if (first == First::receives) meet(endpoint);
    for (int i = 0; i < kMessages; ++i)
      tell(endpoint, {0}, request(1), 100 * endpoint.self().value + i);
    return meet(endpoint);
  }
  const std::size_t expected = static_cast<std::size_t>(kMessages * (endpoint.workers() - 1));
  std::vector<at::Tensor> messages;
  std::vector<Pending> receives;
  const auto post = [&] {
    messages.push_back(number(-1));
    receives.push_back(endpoint.receive_any(request(1), messages.back()));
  };
  if (first == First::receives) {
    while (receives.size() < expected) post();
    meet(endpoint);
  }
  std::vector<int> next(static_cast<std::size_t>(endpoint.workers()));
  for (std::size_t i = 0; i < expected; ++i) {
    if (receives.size() <= i) post();
    Pending* const one[] = {&receives[i]};
    wait_any(one, kDeadline);
    const WorkerId from = receives[i].from();
    receives[i].wait(kDeadline);
    EXPECT_EQ(value_of(messages[i]),
              100 * from.value + next.at(static_cast<std::size_t>(from.value))++);
  }
  meet(endpoint);
}

TEST_P(ConformanceOfSize, ReceivesFromAnybodyEachMessageOnceInTheOrderOfItsSender) {
  run([](Endpoint& endpoint) { expect_all_from_anybody(endpoint, First::sends); });
}

TEST_P(ConformanceOfSize, ReceivesFromAnybodyInOrderWhenAllReceivesWaitBeforeTheFirstSend) {
  run([](Endpoint& endpoint) { expect_all_from_anybody(endpoint, First::receives); });
}

TEST_P(Conformance, ReceivesFromAnybodyOnlyWhatHasTheTag) {
  run(2, [](Endpoint& endpoint) {
    Tag other_kind = request(1);
    other_kind.kind = Kind::payload;
    const std::vector<Tag> tags = {request(1), request(2), in_lane({5}, request(1)), other_kind};
    if (endpoint.self() == kSender) {
      tell(endpoint, kReceiver, numbered(1), 100);
      for (std::size_t i = 0; i < tags.size(); ++i)
        tell(endpoint, kReceiver, tags[i], static_cast<double>(i));
      return meet(endpoint);
    }
    for (const std::size_t i : {3, 1, 2, 0}) EXPECT_EQ(hear_anybody(endpoint, tags[i]), i);
    EXPECT_EQ(hear(endpoint, kSender, numbered(1)), 100);
    meet(endpoint);
  });
}

TEST_P(Conformance, CarriesEmptyAndOddSizesOfSeveralTypes) {
  run(2, [](Endpoint& endpoint) {
    std::vector<Pending> operations;
    std::vector<std::pair<at::Tensor, at::Tensor>> received;  // And what it should be.
    int seed = 0;
    for (const at::ScalarType type : {at::kByte, at::kFloat, at::kDouble, at::kLong})
      for (const int count : {0, 1, 3, 17, 1023, 65'537}) {
        const at::Tensor expected = pattern(count, type, ++seed);
        if (endpoint.self() == kSender) {
          operations.push_back(endpoint.send(kReceiver, numbered(1), expected));
        } else {
          received.emplace_back(pattern(count, type, 0), expected);
          operations.push_back(endpoint.receive(kSender, numbered(1), received.back().first));
        }
      }
    wait_all(operations);
    for (const auto& [message, expected] : received)
      EXPECT_TRUE(same_bytes(message, expected)) << expected.numel() << " of " << expected.dtype();
  });
}

TEST_P(Conformance, AnEmptyMessageIsAMessage) {
  run(2, [](Endpoint& endpoint) {
    const at::Tensor nothing = at::empty({0}, at::kFloat);
    if (endpoint.self() == kSender) {
      meet(endpoint);
      endpoint.send(kReceiver, numbered(1), nothing).wait(kDeadline);
      return meet(endpoint);
    }
    Pending receive = endpoint.receive(kSender, numbered(1), nothing);
    EXPECT_FALSE(receive.ready());
    meet(endpoint);
    receive.wait(kDeadline);
    Pending second = endpoint.receive(kSender, numbered(1), nothing);
    thrown_by<Timeout>([&] { second.wait(kBrief); });
    meet(endpoint);
  });
}

TEST_P(Conformance, SendsAndReceivesPartsOfTensors) {
  run(2, [](Endpoint& endpoint) {
    at::Tensor whole = pattern(30, at::kInt, endpoint.self().value + 1);
    const at::Tensor part = whole.narrow(0, 10, 7);
    if (endpoint.self() == kSender)
      return endpoint.send(kReceiver, numbered(1), part).wait(kDeadline);
    endpoint.receive(kSender, numbered(1), part).wait(kDeadline);
    const at::Tensor senders = pattern(30, at::kInt, 1);
    const at::Tensor before = pattern(30, at::kInt, 2);
    EXPECT_TRUE(same_bytes(part, senders.narrow(0, 10, 7)));
    EXPECT_TRUE(same_bytes(whole.narrow(0, 0, 10), before.narrow(0, 0, 10)));
    EXPECT_TRUE(same_bytes(whole.narrow(0, 17, 13), before.narrow(0, 17, 13)));
  });
}

TEST_P(Conformance, CarriesAThousandMessagesOfEachPairBothWaysAtOnce) {
  constexpr int kMessages = 1000;
  run(3, [](Endpoint& endpoint) {
    std::vector<Pending> operations;
    std::vector<at::Tensor> messages;
    for (int i = 0; i < kMessages; ++i)
      for (const WorkerId peer : peers_of(endpoint)) {
        operations.push_back(
            endpoint.send(peer, numbered(1), number(kMessages * endpoint.self().value + i)));
        messages.push_back(number(-1));
        operations.push_back(endpoint.receive(peer, numbered(1), messages.back()));
      }
    wait_all(operations);
    auto message = messages.begin();
    for (int i = 0; i < kMessages; ++i)
      for (const WorkerId peer : peers_of(endpoint))
        ASSERT_EQ(value_of(*message++), kMessages * peer.value + i);
  });
}

// Worker 2 waits for the receiver, which cannot go on: it must not hang either.
void exchange_sizes(Endpoint& endpoint, int sent, int expected) {
  if (endpoint.self() == kSender)
    endpoint.send(kReceiver, numbered(1), pattern(sent, at::kFloat, 1)).wait(kDeadline);
  else if (endpoint.self() == kReceiver)
    endpoint.receive(kSender, numbered(1), pattern(expected, at::kFloat, 2)).wait(kDeadline);
  else
    hear(endpoint, kReceiver, numbered(2));
}

TEST_P(Conformance, RefusesAMessageThatIsLargerThanItsReceiver) {
  thrown_by<LogicError>(
      [&] { run(3, [](Endpoint& endpoint) { exchange_sizes(endpoint, 4, 3); }); });
}

TEST_P(Conformance, RefusesAMessageThatIsSmallerThanItsReceiver) {
  thrown_by<LogicError>(
      [&] { run(3, [](Endpoint& endpoint) { exchange_sizes(endpoint, 4, 5); }); });
}

}  // namespace
}  // namespace huddle
