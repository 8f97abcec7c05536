#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>

#include "huddle/base/error.h"
#include "huddle/collective/barrier.h"
#include "huddle/collective/broadcast.h"
#include "huddle/collective/gather.h"
#include "huddle/collective/roll_call.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr Deadline kDeadline{20};

void run(int workers, const std::function<void(Endpoint&)>& body) {
  ThreadsOptions options;
  options.cluster.workers = workers;
  make_threads_launcher(options)->run(body);
}

TEST(Broadcast, GivesEverybodyTheRootsTensorFromAnyRoot) {
  for (const int workers : {1, 2, 3, 5, 8, 9})
    for (const int root : {0, workers - 1})
      run(workers, [&](Endpoint& endpoint) {
        const at::Tensor tensor = at::full({13}, endpoint.self().value, at::kDouble);
        broadcast(endpoint, Group::everyone(workers), WorkerId{root}, tensor, {}, kDeadline);
        EXPECT_TRUE(at::equal(tensor, at::full({13}, root, at::kDouble)));
      });
}

TEST(Gather, GivesTheRootAllTensorsByPosition) {
  for (const int workers : {1, 2, 5})
    run(workers, [&](Endpoint& endpoint) {
      const at::Tensor tensor = at::full({3}, endpoint.self().value, at::kDouble);
      const auto gathered =
          gather(endpoint, Group::everyone(workers), WorkerId{0}, tensor, {}, kDeadline);
      ASSERT_EQ(gathered.size(),
                endpoint.self().value == 0 ? static_cast<std::size_t>(workers) : 0);
      for (std::size_t i = 0; i < gathered.size(); ++i)
        EXPECT_EQ(gathered[i][0].item<double>(), static_cast<double>(i));
    });
}

TEST(Barrier, NobodyLeavesBeforeEverybodyHasCome) {
  for (const int workers : {1, 2, 3, 7, 8}) {
    std::atomic<int> come{0};
    run(workers, [&](Endpoint& endpoint) {
      endpoint.compute(Step{0}, 0.002 * endpoint.self().value);
      ++come;
      barrier(endpoint, Group::everyone(workers), {}, kDeadline);
      EXPECT_EQ(come.load(), workers);
    });
  }
}

TEST(RollCall, FindsEverybodyWhereNobodyIsLost) {
  for (const int workers : {1, 2, 5})
    run(workers, [&](Endpoint& endpoint) {
      EXPECT_EQ(roll_call(endpoint, Lane{9}, kDeadline), Group::everyone(workers));
    });
}

// One is gone before the others report, one while they wait for it.
TEST(RollCall, LeavesOutWhoeverIsLostOnAllOthersAlike) {
  ThreadsOptions options;
  options.cluster.workers = 5;
  options.cluster.deaths = {{.worker = {2}, .step = {0}}, {.worker = {4}, .step = {1}}};
  std::atomic<int> agreed{0};
  const auto losses = make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    endpoint.compute(Step{0}, 0);
    if (endpoint.self() == WorkerId{4}) {
      endpoint.compute(Step{0}, 0.02);
      endpoint.compute(Step{1}, 0);
    }
    EXPECT_EQ(roll_call(endpoint, Lane{9}, kDeadline), Group({{0}, {1}, {3}}));
    ++agreed;
  });
  EXPECT_EQ(losses.size(), 2u);
  EXPECT_EQ(agreed.load(), 3);
}

TEST(RollCall, FailsForAllWithoutWorkerZero) {
  ThreadsOptions options;
  options.cluster.workers = 3;
  options.cluster.deaths = {{.worker = {0}, .step = {0}}};
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    endpoint.compute(Step{0}, 0);
    EXPECT_THROW(roll_call(endpoint, Lane{9}, kDeadline), PeerLost);
  });
}

}  // namespace
}  // namespace huddle
