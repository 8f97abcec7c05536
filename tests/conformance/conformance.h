// The conformance suite of the engine seam: what every Launcher, Endpoint and Pending must do,
// whatever carries the messages.
//
// The tests are bodies for workers, written against the seam alone. They have no threads, sleeps or
// clocks of their own: time passes in Endpoint::compute, so they run in virtual time as well. A
// test runs one cluster once, save for the one that is about running twice, so that an engine that
// can simulate only once per process runs each test in a process of its own. To put an engine to
// the test, write a file like conformance_threads.cc and link it with all others here.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// An engine under test.
struct TestedEngine {
  std::string name;
  std::function<std::unique_ptr<Launcher>(const Cluster&)> make;
};

inline void PrintTo(const TestedEngine& engine, std::ostream* out) { *out << engine.name; }

// For tests that need a certain cluster.
class Conformance : public testing::TestWithParam<TestedEngine> {
 public:
  std::unique_ptr<Launcher> make_launcher(int workers) const;
  std::vector<Loss> run(const Cluster& cluster, const std::function<void(Endpoint&)>& body) const;
  std::vector<Loss> run(int workers, const std::function<void(Endpoint&)>& body) const;
};

// For tests whose outcome could depend on the number of workers: one worker, odd numbers, primes.
class ConformanceOfSize : public testing::TestWithParam<std::tuple<TestedEngine, int>> {
 protected:
  int workers() const { return std::get<int>(GetParam()); }
  WorkerId last() const { return {workers() - 1}; }
  std::vector<Loss> run(const std::function<void(Endpoint&)>& body) const { return run({}, body); }

  // `deaths` are injected.
  std::vector<Loss> run(const std::vector<Death>& deaths,
                        const std::function<void(Endpoint&)>& body) const;
};

// The same for engines that have a native group average: these alone instantiate them.
class NativeConformance : public Conformance {};
class NativeConformanceOfSize : public ConformanceOfSize {};

// For engines whose launchers can be used more than once: these alone instantiate it.
class RepeatedConformance : public Conformance {};

// How instances are made and named; see conformance_threads.cc.
inline auto sizes() { return testing::Values(1, 2, 3, 4, 5, 7, 9); }
std::string name_of_engine(const testing::TestParamInfo<TestedEngine>& info);
std::string name_of_size(const testing::TestParamInfo<std::tuple<TestedEngine, int>>& info);

}  // namespace huddle
