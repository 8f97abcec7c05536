// Pairs that are near, on the threads engine.

#include "huddle/collective/wire/near_pairs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/collective/wire/wire_format.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr std::int64_t kElements = 3 * kInt8Block + 100;

// What both hold after each of some meetings, before which `drift` moves them, and what they sent.
struct Meetings {
  std::vector<std::array<at::Tensor, 2>> before;
  std::vector<std::array<at::Tensor, 2>> after;
  std::vector<std::int64_t> bytes;
};

using Drift = std::function<void(int worker, int meeting, const at::Tensor& x)>;

Meetings meet(int count, const Drift& drift, at::ScalarType type = at::kDouble,
              std::span<const double> weights = {}) {
  Meetings meetings;
  meetings.before.resize(static_cast<std::size_t>(count));
  meetings.after.resize(static_cast<std::size_t>(count));
  meetings.bytes.resize(static_cast<std::size_t>(count));
  ThreadsOptions options;
  options.cluster.workers = 2;
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const auto self = static_cast<std::size_t>(endpoint.self().value);
    const at::Tensor x = at::linspace(-2, 2, kElements, type);
    NearPairs pairs({20}, kMainLane);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      drift(endpoint.self().value, i, x);
      meetings.before[at][self] = x.clone();
      const Exchange exchange = pairs.average(endpoint, Group::everyone(2), x,
                                              Sequence{static_cast<std::uint32_t>(i)}, 0, weights);
      meetings.after[at][self] = x.clone();
      if (self == 0) meetings.bytes[at] = exchange.bytes_sent;
    }
  });
  return meetings;
}

// Each goes its own way by about `size`.
Drift random_drift(double size) {
  return [size](int worker, int meeting, const at::Tensor& x) {
    at::Generator generator =
        at::detail::createCPUGenerator(static_cast<std::uint64_t>(100 * meeting + worker));
    x.add_(at::randn({x.numel()}, generator, x.options().dtype(at::kDouble)).to(x.scalar_type()),
           size);
  };
}

double furthest(const std::array<at::Tensor, 2>& two) {
  return (two[0] - two[1]).abs().max().item<double>();
}

TEST(NearPairs, SendAByteANumberOnceTheyHaveMetAndKeepTheirSum) {
  const Meetings meetings = meet(6, random_drift(1e-3));
  EXPECT_EQ(meetings.bytes[0], 2 * kElements) << "nobody knows how near they are";
  for (std::size_t i = 1; i < meetings.bytes.size(); ++i) {
    EXPECT_EQ(meetings.bytes[i], kElements + 4 * 4);
    const auto& before = meetings.before[i];
    const auto& after = meetings.after[i];
    EXPECT_TRUE(at::allclose(after[0] + after[1], before[0] + before[1], 0, 1e-14));
    // The first bound is as coarse as bfloat16.
    EXPECT_LT(furthest(after), (i == 1 ? 0.1 : 0.04) * furthest(before));
  }
}

TEST(NearPairs, FollowTheFormula) {
  const Meetings meetings = meet(3, random_drift(1e-3));
  // After bfloat16 the bound of a block is twice what it showed.
  const auto q = [](const at::Tensor& x) {
    return x.to(at::kFloat).to(at::kBFloat16).to(at::kDouble);
  };
  const auto block = [](const at::Tensor& x) { return x.narrow(0, 0, kInt8Block); };
  const auto& first = meetings.before[0];
  const double bound = 2 * (q(block(first[0])) - q(block(first[1]))).abs().max().item<double>();
  const double step = 2 * bound / 255;
  const at::Tensor x = block(meetings.before[1][0]);
  const at::Tensor y = block(meetings.before[1][1]);
  const at::Tensor expected = x + ((y / step).round() - (x / step).round()) * step / 2;
  EXPECT_TRUE(at::allclose(block(meetings.after[1][0]), expected, 0, 1e-14));
}

TEST(NearPairs, KeepTheirOwnWhereTheyWereFurtherApartThanThoughtAndTravelWholeTheNextTime) {
  const Meetings meetings = meet(4, [](int worker, int meeting, const at::Tensor& x) {
    random_drift(1e-3)(worker, meeting, x);
    if (meeting == 1 && worker == 0) {  // Two leaps that a plain sum would not notice.
      x[5] += 1;
      x[6] -= 1;
    }
  });
  const auto block = [](const at::Tensor& x, int i) { return x.narrow(0, i * kInt8Block, 100); };
  for (const std::size_t worker : {0U, 1U}) {
    EXPECT_TRUE(
        at::equal(block(meetings.after[1][worker], 0), block(meetings.before[1][worker], 0)));
    EXPECT_FALSE(
        at::equal(block(meetings.after[1][worker], 1), block(meetings.before[1][worker], 1)));
  }
  EXPECT_EQ(meetings.bytes[2], 2 * kInt8Block + 2 * kInt8Block + 100 + 3 * 4);
  EXPECT_LT(furthest(meetings.after[2]), 0.02);
  EXPECT_EQ(meetings.bytes[3], kElements + 4 * 4);
}

TEST(NearPairs, GoByWeights) {
  const std::vector<double> weights{0.25, 0.75};
  const Meetings meetings = meet(4, random_drift(1e-3), at::kDouble, weights);
  const auto& before = meetings.before[3];
  for (const at::Tensor& after : meetings.after[3])
    EXPECT_TRUE(at::allclose(after, 0.25 * before[0] + 0.75 * before[1], 0, 1e-4));
}

TEST(NearPairs, AverageEveryTypeOfModel) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Meetings meetings = meet(3, random_drift(0.05), type);
    const auto& before = meetings.before[2];
    const at::Tensor mean = (before[0].to(at::kDouble) + before[1].to(at::kDouble)) / 2;
    for (const at::Tensor& after : meetings.after[2])
      EXPECT_TRUE(at::allclose(after.to(at::kDouble), mean, 0.01, 0.01));
  }
}

TEST(NearPairs, SpreadWhatIsNotFinite) {
  const Meetings meetings = meet(4, [](int worker, int meeting, const at::Tensor& x) {
    random_drift(1e-3)(worker, meeting, x);
    if (meeting == 0) x[3] = 0.;  // As near to 0 as a bias: NaN must not pass for it.
    if (meeting == 1 && worker == 0) x[3] = std::nan("");
  });
  EXPECT_TRUE(meetings.after[2][1][3].isnan().item<bool>());
  EXPECT_FALSE(meetings.after[3][1][4].isnan().item<bool>());
}

// The bounds are part of what a run remembers.
TEST(NearPairs, GoOnWhereTheyWereSaved) {
  ThreadsOptions options;
  options.cluster.workers = 2;
  std::array<bool, 2> same{};
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const Group both = Group::everyone(2);
    const int self = endpoint.self().value;
    at::Tensor x = at::linspace(-2, 2, kElements, at::kFloat);
    NearPairs pairs({20}, kMainLane);
    random_drift(1e-3)(self, 0, x);
    pairs.average(endpoint, both, x, Sequence{0}, 7);
    NearPairs resumed({20}, kMainLane);
    resumed.load(pairs.tensors());
    at::Tensor copy = x.clone();
    random_drift(1e-3)(self, 1, x);
    random_drift(1e-3)(self, 1, copy);
    pairs.average(endpoint, both, x, Sequence{1}, 7);
    const Exchange exchange = resumed.average(endpoint, both, copy, Sequence{2}, 7);
    same[static_cast<std::size_t>(self)] =
        at::equal(x, copy) && exchange.bytes_sent < 2 * kElements;
  });
  EXPECT_TRUE(same[0] && same[1]);
}

}  // namespace
}  // namespace huddle
