// The native group average, where an engine has one.

#include <atomic>

#include "tests/conformance/conformance.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

constexpr Tag kMeeting{Kind::payload, Purpose::average, kMainLane, {1}};
constexpr Step kLastStep{2};
constexpr int kWidth = 3;  // Numbers in a block.

// Worker w's tensor holds (w + 1) * (i + 1) at i, so what became of whose tensor shows.
at::Tensor tensor_of(WorkerId worker, int blocks) {
  at::Tensor tensor = pattern(blocks * kWidth, at::kDouble, 0);
  for (int i = 0; i < blocks * kWidth; ++i)
    tensor.mutable_data_ptr<double>()[i] = (worker.value + 1.0) * (i + 1);
  return tensor;
}

bool is_sum(const at::Tensor& tensor, const Group& group) {
  double factor = 0;
  for (const WorkerId member : group) factor += member.value + 1;
  for (int i = 0; i < tensor.numel(); ++i)
    if (tensor.const_data_ptr<double>()[i] != factor * (i + 1)) return false;
  return true;
}

bool is_untouched(const at::Tensor& tensor, WorkerId worker) {
  return is_sum(tensor, Group({worker}));
}

// Sums one block of all members' tensors into all of them.
void sum_block(int block, std::span<at::Tensor> members) {
  for (int i = block * kWidth; i < (block + 1) * kWidth; ++i) {
    double sum = 0;
    for (const at::Tensor& member : members) sum += member.const_data_ptr<double>()[i];
    for (const at::Tensor& member : members) member.mutable_data_ptr<double>()[i] = sum;
  }
}

GroupReduce& native_of(Endpoint& endpoint) {
  check(endpoint.native() != nullptr, "the engine under test has no native average");
  return *endpoint.native();
}

Time sum(Endpoint& endpoint, const Group& group, Tag tag, const at::Tensor& tensor,
         Deadline deadline = kDeadline) {
  return native_of(endpoint).reduce(group, tag, tensor, static_cast<int>(tensor.numel()) / kWidth,
                                    sum_block, deadline);
}

Cluster with_death(int workers, Death death) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.deaths = {death};
  return cluster;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NativeConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NativeConformanceOfSize);

TEST_P(NativeConformanceOfSize, CombinesEachBlockOnceAndGivesAllMembersTheResult) {
  constexpr int kBlocks = 40;
  const Group everyone = Group::everyone(workers());
  std::vector<std::atomic<int>> calls(kBlocks);
  run([&](Endpoint& endpoint) {
    const at::Tensor tensor = tensor_of(endpoint.self(), kBlocks);
    const auto combine = [&](int block, std::span<at::Tensor> members) {
      ++calls.at(static_cast<std::size_t>(block));
      ASSERT_EQ(members.size(), static_cast<std::size_t>(workers()));
      for (std::size_t i = 0; i < members.size(); ++i)
        EXPECT_EQ(members[i].const_data_ptr<double>()[block * kWidth],
                  (static_cast<double>(i) + 1) * (block * kWidth + 1));
      sum_block(block, members);
    };
    native_of(endpoint).reduce(everyone, kMeeting, tensor, kBlocks, combine, kDeadline);
    EXPECT_TRUE(is_sum(tensor, everyone));
  });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

TEST_P(NativeConformanceOfSize, WorksAgainWithTheSameTag) {
  const Group everyone = Group::everyone(workers());
  run([&](Endpoint& endpoint) {
    for (int round = 0; round < 50; ++round) {
      const at::Tensor tensor = tensor_of(endpoint.self(), 1 + round % 5);
      sum(endpoint, everyone, kMeeting, tensor);
      EXPECT_TRUE(is_sum(tensor, everyone)) << "round " << round;
    }
  });
}

TEST_P(NativeConformance, GroupsWithOneTagDoNotDisturbOneAnother) {
  const Group pair({{0}, {2}});
  const Group three({{1}, {3}, {4}});
  run(5, [&](Endpoint& endpoint) {
    for (int round = 0; round < 20; ++round)
      for (const Group& group :
           {pair.contains(endpoint.self()) ? pair : three, Group::everyone(5)}) {
        const at::Tensor tensor = tensor_of(endpoint.self(), 4);
        sum(endpoint, group, kMeeting, tensor);
        EXPECT_TRUE(is_sum(tensor, group));
      }
  });
}

// Worker 0 begins with lane 1, worker 1 with lane 2.
TEST_P(NativeConformance, TagsKeepAveragesOfLanesApart) {
  const Group everyone = Group::everyone(2);
  run(2, [&](Endpoint& endpoint) {
    std::vector<Pending> programs;
    for (const int i : {0, 1}) {
      const Lane lane{static_cast<std::uint8_t>(1 + (endpoint.self().value + i) % 2)};
      programs.push_back(endpoint.spawn(lane, [&everyone, lane](Endpoint& own) {
        const at::Tensor tensor = tensor_of(own.self(), 2 * lane.value);
        sum(own, everyone, in_lane(lane, kMeeting), tensor);
        EXPECT_TRUE(is_sum(tensor, everyone));
      }));
    }
    wait_all(programs);
  });
}

TEST_P(NativeConformanceOfSize, ReportsTheMomentAtWhichEverybodyWasThere) {
  Notes<Time> moments;
  run([&](Endpoint& endpoint) {
    endpoint.compute(Step{0}, 0.002 * endpoint.self().value);
    const Time begin = endpoint.now();
    const Time moment =
        sum(endpoint, Group::everyone(workers()), kMeeting, tensor_of(endpoint.self(), 2));
    EXPECT_GE(moment, begin);
    EXPECT_LE(moment, endpoint.now());
    moments.add(moment);
  });
  for (const Time moment : moments.all()) EXPECT_EQ(moment, moments.all().front());
}

TEST_P(NativeConformance, TimesOutWithTensorsUntouchedWhenAMemberDoesNotComeAndWorksOnceItDoes) {
  const Group everyone = Group::everyone(3);
  run(3, [&](Endpoint& endpoint) {
    endpoint.compute(Step{5}, 0);
    const at::Tensor tensor = tensor_of(endpoint.self(), 4);
    if (endpoint.self().value < 2) {
      const Timeout late =
          thrown_by<Timeout>([&] { sum(endpoint, everyone, kMeeting, tensor, kBrief); });
      expect_mentions(late.what(), {named(endpoint.self()), "step 5", "worker 2"});
      EXPECT_TRUE(is_untouched(tensor, endpoint.self()));
    }
    meet(endpoint);
    sum(endpoint, everyone, kMeeting, tensor);
    EXPECT_TRUE(is_sum(tensor, everyone));
  });
}

TEST_P(NativeConformanceOfSize, ThrowsPeerLostWithTensorsUntouchedWhenAMemberDiesBeforeItCame) {
  const auto losses = run({{last(), kLastStep}}, [&](Endpoint& endpoint) {
    endpoint.compute(Step{1}, endpoint.self().value == 0 ? 0 : 0.002);
    if (endpoint.self() == last()) endpoint.compute(kLastStep, 0);
    const at::Tensor tensor = tensor_of(endpoint.self(), 4);
    const PeerLost lost =
        thrown_by<PeerLost>([&] { sum(endpoint, Group::everyone(workers()), kMeeting, tensor); });
    EXPECT_EQ(lost.peer(), last());
    expect_mentions(lost.what(), {named(endpoint.self()), "step 1", named(last())});
    EXPECT_TRUE(is_untouched(tensor, endpoint.self()));
  });
  expect_only_loss(losses, last());
}

// Worker 1 comes, gives up waiting for worker 2 and dies; worker 0 has come too and must learn of
// it.
TEST_P(NativeConformance, ThrowsPeerLostWhenAMemberHasLeftAgainAndDied) {
  const Group everyone = Group::everyone(3);
  const auto losses = run(with_death(3, {WorkerId{1}, kLastStep}), [&](Endpoint& endpoint) {
    const at::Tensor tensor = tensor_of(endpoint.self(), 2);
    if (endpoint.self().value == 2) {
      hear(endpoint, {0}, kMeeting);
    } else if (endpoint.self().value == 1) {
      thrown_by<Timeout>([&] { sum(endpoint, everyone, kMeeting, tensor, kBrief); });
      endpoint.compute(kLastStep, 0);
    } else {
      const PeerLost lost = thrown_by<PeerLost>([&] { sum(endpoint, everyone, kMeeting, tensor); });
      EXPECT_EQ(lost.peer(), WorkerId{1});
      EXPECT_TRUE(is_untouched(tensor, endpoint.self()));
      tell(endpoint, {2}, kMeeting);
    }
  });
  expect_only_loss(losses, {1});
}

TEST_P(NativeConformance, ThrowsPeerLostWhenAMemberFinishedBeforeItCame) {
  run(3, [&](Endpoint& endpoint) {
    const WorkerId other{1 - endpoint.self().value};
    if (endpoint.self().value == 2) return;
    const at::Tensor tensor = tensor_of(endpoint.self(), 1);
    const PeerLost lost =
        thrown_by<PeerLost>([&] { sum(endpoint, Group::everyone(3), kMeeting, tensor); });
    EXPECT_EQ(lost.peer(), WorkerId{2});
    expect_mentions(lost.what(), {"finished"});
    EXPECT_TRUE(is_untouched(tensor, endpoint.self()));
    tell(endpoint, other, kMeeting);
    hear(endpoint, other, kMeeting);  // So that nobody else finishes before both know.
  });
}

// Whoever learns of it may leave before another looks, which is then told of the one that left: the
// cause stays the same.
TEST_P(NativeConformanceOfSize, AFailingBodyEndsAllWhoWaitToAverageWithIt) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run([&](Endpoint& endpoint) {
      endpoint.compute(Step{1}, 0.002);
      if (endpoint.self() == last()) throw std::runtime_error("boom");
      const at::Tensor tensor = tensor_of(endpoint.self(), 4);
      const PeerLost lost =
          thrown_by<PeerLost>([&] { sum(endpoint, Group::everyone(workers()), kMeeting, tensor); });
      expect_mentions(lost.what(),
                      {named(endpoint.self()), named(lost.peer()), named(last()), "boom"});
      EXPECT_TRUE(is_untouched(tensor, endpoint.self()));
      throw lost;
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

// The victim arrives, combines one block and dies. The others let it have that block: they hold on
// inside theirs until then.
TEST_P(NativeConformance, AMemberThatDiesAfterItCameLosesNoBlock) {
  constexpr int kBlocks = 20;
  constexpr WorkerId kVictim{1};
  const Group everyone = Group::everyone(3);
  std::vector<std::atomic<int>> calls(kBlocks);
  std::atomic<bool> victim_had_a_block{false};
  const auto losses = run(with_death(3, {kVictim, kLastStep, 1}), [&](Endpoint& endpoint) {
    endpoint.compute(kLastStep, 0);
    const Time give_up = endpoint.now() + kDeadline.after;
    const at::Tensor tensor = tensor_of(endpoint.self(), kBlocks);
    const auto combine = [&](int block, std::span<at::Tensor> members) {
      ++calls.at(static_cast<std::size_t>(block));
      sum_block(block, members);
      if (endpoint.self() == kVictim) victim_had_a_block = true;
      while (!victim_had_a_block && endpoint.now() < give_up) endpoint.compute(kLastStep, 0.0005);
    };
    native_of(endpoint).reduce(everyone, kMeeting, tensor, kBlocks, combine, kDeadline);
    EXPECT_NE(endpoint.self(), kVictim) << "the victim lived on";
    EXPECT_TRUE(is_sum(tensor, everyone));
  });
  expect_only_loss(losses, kVictim);
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

TEST_P(NativeConformance, ACombinationThatThrowsEndsAllMembers) {
  const auto error = thrown_by<std::runtime_error>([&] {
    run(3, [](Endpoint& endpoint) {
      const auto combine = [](int block, std::span<at::Tensor>) {
        if (block == 3) throw std::runtime_error("boom");
      };
      native_of(endpoint).reduce(Group::everyone(3), kMeeting, tensor_of(endpoint.self(), 5), 5,
                                 combine, kDeadline);
      ADD_FAILURE() << "worker " << endpoint.self().value << " went on";
    });
  });
  EXPECT_STREQ(error.what(), "boom");
}

TEST_P(NativeConformance, StopEndsThoseWhoWaitToAverage) {
  const auto launcher = make_launcher(3);
  thrown_by<Interrupted>([&] {
    launcher->run([&](Endpoint& endpoint) {
      meet(endpoint);
      if (endpoint.self().value == 2) return launcher->stop("enough");
      const at::Tensor tensor = tensor_of(endpoint.self(), 4);
      expect_mentions(thrown_by<Interrupted>([&] {
                        sum(endpoint, Group::everyone(3), kMeeting, tensor);
                      }).what(),
                      {"enough"});
      EXPECT_TRUE(is_untouched(tensor, endpoint.self()));
    });
  });
}

// Everybody keeps what it got until all have asked.
TEST_P(NativeConformanceOfSize, WhatIsSharedIsMadeOnceForAllWhoHoldIt) {
  std::atomic<int> made{0};
  run([&](Endpoint& endpoint) {
    for (int round = 1; round <= 3; ++round) {
      {
        const auto thing = endpoint.native()->share(
            "a number",
            [&]() -> std::shared_ptr<const void> { return std::make_shared<const int>(++made); });
        EXPECT_EQ(*static_cast<const int*>(thing.get()), round);
        meet(endpoint);
      }
      meet(endpoint);  // All have let go of it.
    }
  });
}

TEST_P(NativeConformance, WhatCouldNotBeMadeIsTriedAgainByTheNext) {
  run(2, [](Endpoint& endpoint) {
    const auto failing = [&] {
      endpoint.native()->share(
          "a number", []() -> std::shared_ptr<const void> { throw std::runtime_error("boom"); });
    };
    EXPECT_STREQ(thrown_by<std::runtime_error>(failing).what(), "boom");
    meet(endpoint);
    const auto thing =
        endpoint.native()->share("a number", [] { return std::make_shared<const int>(7); });
    EXPECT_EQ(*static_cast<const int*>(thing.get()), 7);
    meet(endpoint);
  });
}

}  // namespace
}  // namespace huddle
