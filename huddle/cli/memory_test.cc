#include "huddle/cli/memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

constexpr MemoryNeed kTimed{
    .engine = MemoryNeed::Engine::sim, .values = MemoryNeed::Values::timed, .workers = 2000000};

MemoryNeed need_of(const std::string& strategy, int workers) {
  Cluster cluster;
  cluster.workers = workers;
  MemoryNeed need = kTimed;
  need.workers = workers;
  add_strategy(need, strategy, cluster);
  return need;
}

TEST(Memory, RefusesWhatDoesNotFitWithWhatDoes) {
  try {
    check_memory(kTimed, 8e9);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    const std::string sentence = error.what();
    const std::string most = std::to_string(most_workers(kTimed, 8e9));
    for (const std::string& word : {std::string("2000000 workers on engine sim"),
                                    std::string("8.0 GB are free"), "--workers " + most})
      EXPECT_NE(sentence.find(word), std::string::npos) << sentence;
  }
  EXPECT_THROW(check_memory(kTimed, 1), UsageError);
  EXPECT_NO_THROW(check_memory(kTimed, std::numeric_limits<double>::infinity()));
}

TEST(Memory, FindsTheLargestNumberThatFits) {
  for (const double bytes : {2e8, 1e9, 1e11}) {
    MemoryNeed need = kTimed;
    need.workers = most_workers(kTimed, bytes);
    EXPECT_LE(estimated_bytes(need), bytes);
    ++need.workers;
    EXPECT_GT(estimated_bytes(need), bytes);
  }
}

TEST(Memory, KnowsHowLargeTheGroupsOfAStrategyAre) {
  EXPECT_EQ(need_of("bsp", 1024).group, 0);
  EXPECT_EQ(need_of("sesgd", 1024).group, 2);
  EXPECT_EQ(need_of("ds_sync", 1024).group, 32);
  EXPECT_EQ(need_of("ds_sync:global_every=5", 1024).group, 0);
  EXPECT_EQ(need_of("sesgd:warmup=5", 1024).group, 0);
  EXPECT_EQ(need_of("random_groups:group=5", 1024).group, 5);
  EXPECT_EQ(need_of("p_reduce:group=4", 1024).group, 4);
  EXPECT_EQ(need_of("local_sgd", 1024).group, 0);
  EXPECT_GT(need_of("ad_psgd", 1024).peer_bytes, 0);
}

TEST(Memory, OfModelsCountsForEveryWorker) {
  MemoryNeed need{.workers = 8, .group = 2};
  const double without = estimated_bytes(need);
  need.model_bytes = 1e9;
  EXPECT_GE(estimated_bytes(need) - without, 8 * 3e9);
  const double without_evaluations = estimated_bytes(need);
  need.models = 5;
  EXPECT_DOUBLE_EQ(estimated_bytes(need) - without_evaluations, 8 * 5e9);
}

TEST(FreeMemory, IsThatOfTheMachine) {
  const ScratchFolder folder;
  folder.write("proc/meminfo", "MemTotal:  100 kB\nMemAvailable:    2000 kB\n");
  EXPECT_DOUBLE_EQ(free_bytes(folder.path()), 2000 * 1024);
  EXPECT_TRUE(std::isinf(free_bytes(folder.path() / "nowhere")));
  EXPECT_GT(free_bytes(), 0);
}

TEST(FreeMemory, IsThatOfTheTightestControlGroup) {
  const ScratchFolder folder;
  folder.write("proc/meminfo", "MemAvailable:    1000000 kB\n");
  folder.write("proc/self/cgroup", "0::/outer/inner\n");
  folder.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  folder.write("sys/fs/cgroup/outer/inner/memory.current", "7000\n");
  EXPECT_DOUBLE_EQ(free_bytes(folder.path()), 1e6 * 1024);
  folder.write("sys/fs/cgroup/outer/memory.max", "50000\n");
  folder.write("sys/fs/cgroup/outer/memory.current", "20000\n");
  folder.write("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 4000\n");
  EXPECT_DOUBLE_EQ(free_bytes(folder.path()), 34000);
  folder.write("proc/self/cgroup", "5:cpu:/\n4:memory:/job\n0::/outer/inner\n");
  folder.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n");
  folder.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "8000\n");
  EXPECT_DOUBLE_EQ(free_bytes(folder.path()), 1000);
}

}  // namespace
}  // namespace huddle
