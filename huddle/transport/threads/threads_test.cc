// What the threads engine does beyond the conformance suite: injected time, links and deaths.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "huddle/base/error.h"
#include "huddle/transport/threads/injected_links.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr Tag kTag{Kind::payload, Purpose::message, kMainLane, {}};
constexpr Deadline kDeadline{20};

ThreadsOptions options_for(int workers) {
  ThreadsOptions options;
  options.cluster.workers = workers;
  return options;
}

TEST(Threads, ComputeTakesAtLeastTheInjectedTimeAndASlowWorkerLonger) {
  ThreadsOptions options = options_for(2);
  options.cluster.slowdowns = {{.worker = WorkerId{1}, .factor = 3, .first = Step{1}}};
  std::vector<double> seconds(2);
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    endpoint.compute(Step{0}, 0);
    const Time begin = endpoint.now();
    endpoint.compute(Step{1}, 0.02);
    seconds[static_cast<std::size_t>(endpoint.self().value)] = endpoint.now() - begin;
  });
  EXPECT_GE(seconds[0], 0.02);
  EXPECT_GE(seconds[1], 0.06);
}

TEST(Threads, AMessageTakesLatencyAndBytesOverBandwidth) {
  ThreadsOptions options = options_for(2);
  options.cluster.topology.latency_in_rack = 0.01;
  options.cluster.topology.nic_bytes_per_second = 1e6;
  Time sent = 0;
  Time received = 0;
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    at::Tensor data = at::zeros({20'000}, at::kByte);
    EXPECT_EQ(endpoint.native(), nullptr) << "shared memory would hide the injected links";
    if (endpoint.self().value == 0) {
      sent = endpoint.now();
      endpoint.send(WorkerId{1}, kTag, data).wait(kDeadline);
    } else {
      endpoint.receive(WorkerId{0}, kTag, data).wait(kDeadline);
      received = endpoint.now();
    }
  });
  EXPECT_GE(received - sent, 0.03);
}

TEST(InjectedLinks, CarriesOneMessageAtATimeOnEachLink) {
  Cluster cluster;
  cluster.workers = 3;
  cluster.topology.latency_in_rack = 0.5;
  cluster.topology.nic_bytes_per_second = 100;
  InjectedLinks wire(cluster);
  const auto arrival = [&](int from, int to) {
    return wire.carry({WorkerId{from}, WorkerId{to}, 100}).end;
  };
  EXPECT_DOUBLE_EQ(arrival(0, 1), 1.5);
  EXPECT_DOUBLE_EQ(arrival(0, 2), 2.5);  // Behind the first on the way out.
  EXPECT_DOUBLE_EQ(arrival(2, 1), 2.5);  // Behind the first on the way in.
  EXPECT_DOUBLE_EQ(arrival(1, 0), 1.5);  // The other direction is free.
}

TEST(Threads, AWorkerDiesAtItsMomentWhateverItDoes) {
  ThreadsOptions options = options_for(2);
  options.cluster.deaths = {{.worker = WorkerId{1}, .step = {}, .time = 0.05}};
  const std::vector<Loss> losses = make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    if (endpoint.self().value == 1) endpoint.compute(Step{0}, 100);
  });
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].reason, "worker 1 died after 0.05 s (injected)");
}

TEST(Threads, AnInjectedDeathIsReportedAndTheOthersMayFinish) {
  ThreadsOptions options = options_for(3);
  options.cluster.deaths = {{WorkerId{1}, Step{2}}};
  std::atomic<int> finished{0};
  const std::vector<Loss> losses = make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    for (int step = 0; step < 5; ++step) endpoint.compute(Step{step}, 0);
    ++finished;
  });
  EXPECT_EQ(finished, 2);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].worker, WorkerId{1});
  EXPECT_EQ(losses[0].reason, "worker 1 died at step 2 (injected)");
}

TEST(Threads, StopEndsSleepersAndWaiters) {
  const auto launcher = make_threads_launcher(options_for(3));
  std::thread watcher([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    launcher->stop("interrupted");
  });
  EXPECT_THROW(launcher->run([](Endpoint& endpoint) {
    at::Tensor data = at::zeros({1});
    if (endpoint.self().value == 0) endpoint.compute(Step{0}, 100);
    endpoint.receive(WorkerId{0}, kTag, data).wait({100});
  }),
               Interrupted);
  watcher.join();
}

TEST(Threads, RefusesAClusterThatCannotBe) {
  EXPECT_THROW(make_threads_launcher(options_for(0)), UsageError);
  ThreadsOptions options = options_for(2);
  options.cluster.deaths = {{WorkerId{2}, Step{0}}};
  EXPECT_THROW(make_threads_launcher(options), UsageError);
}

}  // namespace
}  // namespace huddle
