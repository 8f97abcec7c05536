// Averages on the threads engine, over messages and in shared memory: right values, equal bits,
// nothing half done.

#include "huddle/collective/average.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

using Native = ThreadsOptions::Native;

struct Case {
  Algorithm algorithm = Algorithm::ring;
  int workers = 4;
  Topology topology = {};
  std::int64_t elements = 100;
  at::ScalarType type = at::kFloat;
  std::vector<double> weights = {};
  std::int64_t message_bytes = 4 << 20;
  Overlap overlap = Overlap::phases;
};

at::Tensor values_of(const Case& test, int worker) {
  std::vector<double> values(static_cast<std::size_t>(test.elements));
  Random random(7, {static_cast<std::uint64_t>(worker)});
  for (double& value : values) value = random.normal();
  return at::tensor(values, at::kDouble).to(test.type);
}

// What each worker holds after one average.
std::vector<at::Tensor> averaged(const Case& test, Native native) {
  ThreadsOptions options;
  options.cluster.workers = test.workers;
  options.native = native;
  std::vector<at::Tensor> results(static_cast<std::size_t>(test.workers));
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    at::Tensor tensor = values_of(test, endpoint.self().value);
    Averager averager({.algorithm = test.algorithm,
                       .topology = std::make_shared<const Topology>(test.topology),
                       .message_bytes = test.message_bytes,
                       .overlap = test.overlap,
                       .deadline = {20}});
    averager.average(endpoint, Group::everyone(test.workers), tensor, Sequence{1}, test.weights);
    results[static_cast<std::size_t>(endpoint.self().value)] = tensor;
  });
  return results;
}

void expect_right(const Case& test) {
  at::Tensor expected = at::zeros({test.elements}, at::kDouble);
  for (int worker = 0; worker < test.workers; ++worker) {
    const double weight =
        test.weights.empty() ? 1.0 / test.workers : test.weights[static_cast<std::size_t>(worker)];
    expected += weight * values_of(test, worker).to(at::kDouble);
  }
  const double tolerance = test.type == at::kDouble ? 1e-14 : test.type == at::kFloat ? 1e-6 : 1e-2;
  const std::vector<at::Tensor> in_memory = averaged(test, Native::on);
  const std::vector<at::Tensor> over_messages = averaged(test, Native::off);
  const std::string name = concat(algorithm_names()[static_cast<std::size_t>(test.algorithm)],
                                  " workers ", test.workers, " elements ", test.elements);
  EXPECT_TRUE(at::allclose(in_memory[0].to(at::kDouble), expected, tolerance, tolerance)) << name;
  for (int worker = 0; worker < test.workers; ++worker) {
    EXPECT_TRUE(at::equal(in_memory[0], in_memory[static_cast<std::size_t>(worker)]))
        << name << ": members differ";
    EXPECT_TRUE(at::equal(in_memory[0], over_messages[static_cast<std::size_t>(worker)]))
        << name << ": paths differ";
  }
}

TEST(Average, EveryAlgorithmSizeAndTypeGivesTheMeanInEqualBitsOnBothPaths) {
  for (const Algorithm algorithm :
       {Algorithm::automatic, Algorithm::ring, Algorithm::scattered_ring,
        Algorithm::halving_doubling, Algorithm::direct, Algorithm::leader, Algorithm::sharded})
    for (const int workers : {1, 2, 3, 5, 8})
      for (const std::int64_t elements : {0, 1, 7, 1009})
        for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16})
          expect_right(
              {.algorithm = algorithm, .workers = workers, .elements = elements, .type = type});
}

TEST(Average, RacksGiveTheMeanInEqualBitsOnBothPaths) {
  const Topology by_turns{.racks = {0, 1, 0, 1, 0, 1}};
  const Topology uneven = in_racks({3, 1, 2});
  for (const Overlap overlap : {Overlap::phases, Overlap::none})
    for (const Algorithm algorithm :
         {Algorithm::leader, Algorithm::sharded, Algorithm::scattered_ring})
      for (const Topology& topology : {in_racks({3, 3}), by_turns, uneven})
        if (topology.racks != uneven.racks || algorithm != Algorithm::sharded)
          expect_right({.algorithm = algorithm,
                        .workers = 6,
                        .topology = topology,
                        .elements = 4001,
                        .overlap = overlap});
  EXPECT_THROW(
      averaged({.algorithm = Algorithm::sharded, .workers = 6, .topology = uneven}, Native::off),
      UsageError);
}

TEST(Average, SmallMessagesChangeNoBits) {
  const Case whole{.algorithm = Algorithm::ring, .workers = 5, .elements = 5003};
  Case cut = whole;
  cut.message_bytes = 64;
  EXPECT_TRUE(at::equal(averaged(whole, Native::off)[0], averaged(cut, Native::off)[0]));
}

TEST(Average, AWorkerAloneHasItsWeightToo) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16})
    for (const double weight : {0.0, 0.3, 1.0, 2.0})
      expect_right({.workers = 1, .elements = 5003, .type = type, .weights = {weight}});
}

TEST(Average, WeightsAreRespected) {
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::halving_doubling, Algorithm::direct})
    expect_right(
        {.algorithm = algorithm, .workers = 3, .elements = 101, .weights = {0.5, 0.2, 0.3}});
  expect_right(
      {.algorithm = Algorithm::pair, .workers = 2, .elements = 101, .weights = {0.9, 0.1}});
}

TEST(Average, LargeTensorsAreCutIntoBlocksWithoutAGap) {
  expect_right(
      {.algorithm = Algorithm::ring, .workers = 3, .elements = 200'003, .message_bytes = 10'000});
}

TEST(Average, CountsTheMessagesReallySentAsThePlanPromises) {
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::halving_doubling, Algorithm::direct, Algorithm::sharded}) {
    Exchange counted[2];
    for (const Native native : {Native::on, Native::off}) {
      ThreadsOptions options;
      options.cluster.workers = 4;
      options.native = native;
      make_threads_launcher(options)->run([&](Endpoint& endpoint) {
        Averager averager({.algorithm = algorithm, .deadline = {20}});
        const at::Tensor tensor = at::ones({6400});
        const Exchange exchange =
            averager.average(endpoint, Group::everyone(4), tensor, Sequence{1});
        if (endpoint.self().value == 1) counted[native == Native::on ? 0 : 1] = exchange;
      });
    }
    EXPECT_EQ(counted[0].bytes_sent, counted[1].bytes_sent);
    EXPECT_EQ(counted[0].messages_sent, counted[1].messages_sent);
    EXPECT_EQ(counted[0].bytes_sent, 2 * 3 * 6400 * 4 / 4);
  }
}

// A worker dies inside the exchange: the others end with an error that names it, each holding the
// average or its own values.
void expect_all_or_nothing(Native native, Algorithm algorithm, int after_operations) {
  const int workers = algorithm == Algorithm::pair ? 2 : 4;
  const WorkerId victim{workers / 2};
  const Case test{.algorithm = algorithm, .workers = workers, .elements = 100'000};
  const at::Tensor mean = averaged(test, Native::on)[0];
  ThreadsOptions options;
  options.cluster.workers = workers;
  options.cluster.deaths = {{victim, Step{0}, after_operations}};
  options.native = native;
  std::mutex mutex;
  std::vector<std::string> errors;
  bool whole = true;
  EXPECT_NO_THROW(make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    endpoint.compute(Step{0}, 0);
    const at::Tensor own = values_of(test, endpoint.self().value);
    const at::Tensor tensor = own.clone();
    Averager averager({.algorithm = algorithm, .message_bytes = 20'000, .deadline = {20}});
    std::string error;
    try {
      averager.average(endpoint, Group::everyone(workers), tensor, Sequence{1});
    } catch (const PeerLost& lost) {
      error = lost.what();
    }
    const std::lock_guard lock(mutex);
    if (!error.empty()) errors.push_back(error);
    whole = whole && (at::equal(tensor, own) || at::equal(tensor, mean));
  })) << "catching the loss must be enough to go on";
  EXPECT_TRUE(whole);
  for (const std::string& error : errors)
    EXPECT_NE(error.find(concat("worker ", victim.value, " died inside an exchange of step 0")),
              std::string::npos)
        << error;
}

TEST(Average, ADeathInsideAnExchangeLeavesTheAverageOrOnesOwnValues) {
  for (const int operations : {1, 2, 3, 5, 9}) {
    expect_all_or_nothing(Native::on, Algorithm::ring, operations);
    for (const Algorithm algorithm :
         {Algorithm::pair, Algorithm::ring, Algorithm::direct, Algorithm::halving_doubling})
      expect_all_or_nothing(Native::off, algorithm, operations);
  }
}

// What each worker holds after one average in a narrow format, and what it sent.
struct Rounded {
  std::vector<at::Tensor> results;
  std::vector<std::int64_t> bytes;
};

Rounded averaged_in(WireFormat format, const Case& test, Rounding rounding,
                    Native native = Native::on) {
  ThreadsOptions options;
  options.cluster.workers = test.workers;
  options.native = native;
  const auto workers = static_cast<std::size_t>(test.workers);
  Rounded rounded{std::vector<at::Tensor>(workers), std::vector<std::int64_t>(workers)};
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const auto self = static_cast<std::size_t>(endpoint.self().value);
    rounded.results[self] = values_of(test, endpoint.self().value);
    Averager averager({.algorithm = test.algorithm,
                       .wire = format,
                       .rounding = rounding,
                       .topology = std::make_shared<const Topology>(test.topology),
                       .message_bytes = test.message_bytes,
                       .deadline = {20}});
    rounded.bytes[self] = averager
                              .average(endpoint, Group::everyone(test.workers),
                                       rounded.results[self], Sequence{1}, test.weights)
                              .bytes_sent;
  });
  return rounded;
}

// As wire_format.h says it, by ATen.
at::Tensor q_bf16(const at::Tensor& x) {
  return x.to(at::kFloat).to(at::kBFloat16).to(at::kDouble);
}

at::Tensor q_int8(const at::Tensor& x) {
  at::Tensor rounded = x.clone();
  for (std::int64_t begin = 0; begin < x.numel(); begin += kInt8Block) {
    const at::Tensor block = rounded.narrow(0, begin, std::min(kInt8Block, x.numel() - begin));
    const at::Tensor scale = (block.abs().max() / 127).to(at::kFloat).to(at::kDouble);
    block.copy_((block / scale).round() * scale);
  }
  return rounded;
}

TEST(NarrowWire, APairAddsTheDifferenceOfWhatWasRounded) {
  const Case test{.workers = 2, .elements = 10'000, .type = at::kDouble};
  const at::Tensor x = values_of(test, 0);
  const at::Tensor y = values_of(test, 1);
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8}) {
    const auto q = format == WireFormat::bf16 ? q_bf16 : q_int8;
    const Rounded rounded = averaged_in(format, test, Rounding::kept);
    EXPECT_TRUE(at::allclose(rounded.results[0], x + ((q(x) + q(y)) / 2 - q(x)), 0, 1e-14));
    EXPECT_TRUE(at::allclose(rounded.results[1], y + ((q(x) + q(y)) / 2 - q(y)), 0, 1e-14));
  }
  EXPECT_EQ(averaged_in(WireFormat::bf16, test, Rounding::kept).bytes[0], 2 * 10'000);
  EXPECT_EQ(averaged_in(WireFormat::int8, test, Rounding::kept).bytes[0], 10'000 + 3 * 4);
}

void expect_kept_sum(const Case& test, WireFormat format, double coarseness) {
  const std::string name = concat(algorithm_names()[static_cast<std::size_t>(test.algorithm)],
                                  " of ", test.workers, " in format ", static_cast<int>(format));
  at::Tensor before = at::zeros({test.elements}, at::kDouble);
  for (int worker = 0; worker < test.workers; ++worker) before += values_of(test, worker);
  const Rounded kept = averaged_in(format, test, Rounding::kept);
  EXPECT_TRUE(at::allclose(at::stack(kept.results).sum(0), before, 0, 1e-11)) << name;
  const at::Tensor mean = before / test.workers;
  for (const at::Tensor& result : kept.results)
    EXPECT_LT((result - mean).abs().max().item<double>(), test.workers * coarseness) << name;
  const Rounded forgotten = averaged_in(format, test, Rounding::forgotten);
  for (const at::Tensor& result : forgotten.results)
    EXPECT_TRUE(at::equal(result, forgotten.results[0])) << name;
  EXPECT_TRUE(at::allclose(forgotten.results[0], mean, coarseness, 3 * coarseness)) << name;
}

TEST(NarrowWire, KeepsTheSumOfAllMembersWhateverTheAlgorithm) {
  for (const Algorithm algorithm :
       {Algorithm::automatic, Algorithm::ring, Algorithm::scattered_ring,
        Algorithm::halving_doubling, Algorithm::direct, Algorithm::leader, Algorithm::sharded})
    for (const int racks : {1, 2, 3})
      for (const int workers : {2, 3, 4, 6, 12}) {
        if (workers % racks != 0) continue;
        Case test{.algorithm = algorithm, .workers = workers, .elements = 97, .type = at::kDouble};
        if (racks > 1) test.topology = in_equal_racks({.racks = racks, .workers = workers / racks});
        expect_kept_sum(test, WireFormat::bf16, 3. / 128);
        test.elements = 9 * kInt8Block + 97;
        if (workers != 12) expect_kept_sum(test, WireFormat::int8, 6. / 127);
      }
}

TEST(NarrowWire, KeepsTheWeightedMeanOfTwo) {
  const Case test{.workers = 2, .elements = 97, .type = at::kDouble, .weights = {0.2, 0.8}};
  const Rounded kept = averaged_in(WireFormat::bf16, test, Rounding::kept);
  const at::Tensor mean = 0.2 * values_of(test, 0) + 0.8 * values_of(test, 1);
  EXPECT_TRUE(at::allclose(at::stack(kept.results).mean(0), mean, 0, 1e-14));
}

TEST(NarrowWire, GivesTheSameBitsHoweverItTravels) {
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8})
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      Case test{.workers = 5, .elements = 50'009, .type = type};
      const Rounded first = averaged_in(format, test, Rounding::kept);
      test.message_bytes = 5000;
      const Rounded cut = averaged_in(format, test, Rounding::kept, Native::off);
      for (std::size_t worker = 0; worker < 5; ++worker)
        EXPECT_TRUE(at::equal(first.results[worker], cut.results[worker]));
    }
}

TEST(NarrowWire, SendsFewerBytes) {
  const Case test{.workers = 5, .elements = 50'009};
  const double full = 2 * 4. / 5 * 50'009 * 4;
  for (const std::int64_t bytes : averaged_in(WireFormat::bf16, test, Rounding::kept).bytes)
    EXPECT_NEAR(static_cast<double>(bytes) / full, 0.5, 0.001);
  for (const std::int64_t bytes : averaged_in(WireFormat::int8, test, Rounding::kept).bytes)
    EXPECT_NEAR(static_cast<double>(bytes) / full, 0.25, 0.04) << "blocks go as a whole";
}

TEST(NarrowWire, LetsModelsInBfloat16TravelAsTheyAre) {
  const Case test{.workers = 4, .elements = 1000, .type = at::kBFloat16};
  for (const std::int64_t bytes : averaged_in(WireFormat::full, test, Rounding::kept).bytes)
    EXPECT_EQ(bytes, 2 * 3 * 250 * 2);
}

// Whatever is lost at one average is part of a later one.
TEST(NarrowWire, CarriesResidualsOn) {
  constexpr int kWorkers = 3;
  constexpr int kAverages = 20;
  const Case test{.workers = kWorkers, .elements = 5000, .type = at::kDouble};
  ThreadsOptions options;
  options.cluster.workers = kWorkers;
  std::vector<at::Tensor> totals(kWorkers);
  std::vector<at::Tensor> residuals(kWorkers);
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const auto self = static_cast<std::size_t>(endpoint.self().value);
    totals[self] = at::zeros({test.elements}, at::kDouble);
    residuals[self] = at::zeros({test.elements}, at::kDouble);
    Averager averager({.wire = WireFormat::int8, .deadline = {20}});
    for (unsigned i = 0; i < kAverages; ++i) {
      const at::Tensor gradient = values_of(test, endpoint.self().value);
      averager.average_with_residuals(endpoint, Group::everyone(kWorkers), gradient, Sequence{i},
                                      residuals[self]);
      totals[self] += gradient;
    }
  });
  at::Tensor expected = at::zeros({test.elements}, at::kDouble);
  for (int worker = 0; worker < kWorkers; ++worker)
    expected += values_of(test, worker) * kAverages / kWorkers;
  for (const at::Tensor& total : totals) EXPECT_TRUE(at::equal(total, totals[0]));
  EXPECT_GT((totals[0] - expected).abs().max().item<double>(), 1e-4) << "something was lost";
  const at::Tensor carried = at::stack(residuals).sum(0) / kWorkers;
  EXPECT_TRUE(at::allclose(totals[0] + carried, expected, 0, 1e-11));
}

// Members who are equal stay where they are, whoever meets whom with which weights.
TEST(NarrowWire, ResidualsFitGroupsOfAllSizesAndWeights) {
  const Case test{.workers = 5, .elements = 1000, .type = at::kDouble};
  const at::Tensor before = values_of(test, 0);
  ThreadsOptions options;
  options.cluster.workers = test.workers;
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const at::Tensor tensor = before.clone();
    const at::Tensor residuals = at::zeros_like(tensor);
    Averager averager({.algorithm = Algorithm::ring, .wire = WireFormat::bf16, .deadline = {20}});
    const std::vector<double> weights[] = {{}, {0.5, 0.2, 0.1, 0.1, 0.1}, {0.2, 0.2, 0.6}};
    for (unsigned i = 0; i < 60; ++i) {
      const std::vector<double>& each = weights[i % 3];
      const Group group = Group::everyone(each.size() == 3 ? 3 : 5);
      if (endpoint.self().value < group.size())
        averager.average_with_residuals(endpoint, group, tensor, Sequence{i}, residuals, each);
    }
    EXPECT_LT(((tensor - before) / before).abs().max().item<double>(), 0.02);
  });
}

TEST(Average, RefusesTypesThatHaveNoMean) { EXPECT_THROW(sum_type(at::kLong), UsageError); }

}  // namespace
}  // namespace huddle
