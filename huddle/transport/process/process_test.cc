// What the engine of processes does beyond the conformance suite: who is heard, in which order, and
// what is said of whom. Workers are threads here, each with an engine and a wire of its own.

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "huddle/base/error.h"
#include "huddle/base/pack.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/transport/process/envelope.h"
#include "huddle/transport/process/failure.h"
#include "huddle/transport/process/launcher.h"
#include "tests/support/memory_wire.h"

namespace huddle {
namespace {

constexpr Deadline kDeadline{20};

Tag numbered_tag(std::uint32_t sequence) {
  return {Kind::payload, Purpose::message, kMainLane, {sequence}};
}

struct Setup {
  int workers = 2;
  MemoryNetwork::Disturb disturb = {};
  MemoryNetwork::Order order = MemoryNetwork::Order::kept;
  std::function<std::string(int worker)> terms = [](int) { return "the same"; };
  std::function<std::string(int worker)> token = [](int) { return "secret"; };
  std::function<void(Launcher&, int worker)> prepare = [](auto&, int) {};
  std::vector<std::string>* warnings = nullptr;
};

// What each worker's `run` threw; empty: nothing.
std::vector<std::string> run(const Setup& setup, const std::function<void(Endpoint&)>& body) {
  MemoryNetwork network(setup.workers, setup.disturb, setup.order);
  std::vector<std::string> errors(static_cast<std::size_t>(setup.workers));
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < setup.workers; ++worker)
    threads.emplace_back([&, worker] {
      ProcessOptions options{.self = {worker},
                             .token = setup.token(worker),
                             .terms = setup.terms(worker),
                             .farewell = {2},
                             .warn = [&](const std::string& warning) {
                               const std::lock_guard lock(mutex);
                               if (setup.warnings != nullptr) setup.warnings->push_back(warning);
                             }};
      options.cluster.workers = setup.workers;
      try {
        const auto launcher = make_process_launcher(
            std::make_unique<MemoryWire>(network, WorkerId{worker}), std::move(options));
        setup.prepare(*launcher, worker);
        launcher->run(body);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(worker)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

// Everybody sends everybody small and large messages, and checks what comes.
void exchange(Endpoint& endpoint) {
  for (std::uint32_t round = 0; round < 20; ++round)
    for (const std::int64_t size : {1, 100, 5000}) {
      std::vector<Pending> sends;
      const double mine = 1000.0 * round + endpoint.self().value;
      for (int peer = 0; peer < endpoint.workers(); ++peer)
        if (peer != endpoint.self().value)
          sends.push_back(
              endpoint.send({peer}, numbered_tag(round), at::full({size}, mine, at::kDouble)));
      for (int peer = 0; peer < endpoint.workers(); ++peer) {
        if (peer == endpoint.self().value) continue;
        const at::Tensor into = at::full({size}, -1.0, at::kDouble);
        endpoint.receive({peer}, numbered_tag(round), into).wait(kDeadline);
        const double expected = 1000.0 * round + peer;
        for (const std::int64_t i : {std::int64_t{0}, size - 1})
          EXPECT_EQ(into.const_data_ptr<double>()[i], expected);
      }
      for (Pending& send : sends) send.wait(kDeadline);
    }
}

TEST(Processes, ExchangeOverAnyWire) { expect_none(run({.workers = 3}, exchange)); }

TEST(Processes, SeeToMessagesInOrderThoughTheWireMixesThem) {
  expect_none(run({.workers = 3, .order = MemoryNetwork::Order::mixed}, exchange));
}

// A stranger speaks between any two messages: it repeats them with other bytes, shorter, longer, or
// under a token of its own.
class Stranger {
 public:
  explicit Stranger(Random::Seed seed) : random_(seed) {}

  std::vector<MemoryMessage> operator()(MemoryMessage message) {
    std::vector<MemoryMessage> arriving;
    for (int i = 0; i < 2; ++i) arriving.push_back(forged(message));
    arriving.push_back(message);
    arriving.push_back(forged(message));
    arriving.push_back(std::move(message));  // Twice the same.
    forged_ += 4;
    return arriving;
  }

  int forged() const { return forged_; }

 private:
  MemoryMessage forged(MemoryMessage message) {
    switch (random_.below(4)) {
      case 0: {  // Another header, which the seal does not fit.
        const std::size_t at = random_.below(message.header.size());
        message.header[at] ^= static_cast<std::byte>(1 + random_.below(255));
        break;
      }
      case 1: message.header.resize(random_.below(message.header.size())); break;
      case 2: {  // Data of another length.
        message.data.resize(message.data.size() + 1 + random_.below(3000));
        break;
      }
      default: {  // Sealed with a token of its own.
        Envelope envelope;
        std::memcpy(&envelope, message.header.data(), sizeof envelope);
        envelope.seal = seal_of(seal_key("a guess", {envelope.from}, {0}), envelope);
        std::memcpy(message.header.data(), &envelope, sizeof envelope);
      }
    }
    return message;
  }

  Random random_;
  int forged_ = 0;
};

TEST(Processes, AreNotDisturbedByThousandsOfForgedMessages) {
  const auto stranger = std::make_shared<Stranger>(7);
  std::vector<std::string> warnings;
  expect_none(
      run({.workers = 3,
           .disturb = [=](MemoryMessage message) { return (*stranger)(std::move(message)); },
           .warnings = &warnings},
          exchange));
  EXPECT_GT(stranger->forged(), 1000);
  ASSERT_FALSE(warnings.empty());
  EXPECT_LT(warnings.size(), 60u) << "who sends much fills the log";
  bool names_sender = false;
  for (const std::string& warning : warnings)
    names_sender = names_sender || warning.find("claims to be of worker 1") != std::string::npos;
  EXPECT_TRUE(names_sender);
}

TEST(Processes, WithAnotherTokenAreNotHeard) {
  std::vector<std::string> warnings;
  const auto errors =
      run({.token = [](int worker) { return concat("token of ", worker); }, .warnings = &warnings},
          exchange);
  for (const std::string& error : errors)
    EXPECT_NE(error.find("gave up after 2 s"), std::string::npos) << error;
  EXPECT_FALSE(warnings.empty());
}

TEST(Processes, ThatMeanAnotherRunAreToldTheDifferenceInTheSameWords) {
  const auto errors =
      run({.workers = 3,
           .terms = [](int worker) { return concat("lr 0.1\nsteps ", worker == 2 ? 7 : 5); }},
          [](Endpoint&) { ADD_FAILURE() << "a body began"; });
  for (const std::string& error : errors)
    EXPECT_EQ(error,
              "the workers of this run disagree: worker 0 has steps 5, worker 2 has steps 7. Start "
              "all processes with the same command and the same Huddle.");
}

TEST(Processes, TellTheProcessOfWorkerZeroInOrderAndBeforeItsRunReturns) {
  std::vector<std::vector<int>> heard(3);
  std::vector<Launcher*> launchers(3);
  expect_none(run({.workers = 3,
                   .prepare =
                       [&](Launcher& launcher, int worker) {
                         launchers[static_cast<std::size_t>(worker)] = &launcher;
                         if (worker == 0)
                           launcher.on_report([&](WorkerId from, std::string_view report) {
                             heard[static_cast<std::size_t>(from.value)].push_back(
                                 unpacked<int>(report));
                           });
                       }},
                  [&](Endpoint& endpoint) {
                    if (endpoint.self().value == 0) return;
                    for (int i = 0; i < 50; ++i)
                      launchers[static_cast<std::size_t>(endpoint.self().value)]->report(packed(i));
                  }));
  for (const int worker : {1, 2}) {
    ASSERT_EQ(heard[static_cast<std::size_t>(worker)].size(), 50u);
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(heard[static_cast<std::size_t>(worker)][static_cast<std::size_t>(i)], i);
  }
}

TEST(Processes, EndWhereAReportCannotBeSeenTo) {
  std::vector<Launcher*> launchers(2);
  const auto errors = run({.prepare =
                               [&](Launcher& launcher, int worker) {
                                 launchers[static_cast<std::size_t>(worker)] = &launcher;
                                 if (worker == 0)
                                   launcher.on_report([](WorkerId, std::string_view) {
                                     throw Error("the disk is full");
                                   });
                               }},
                          [&](Endpoint& endpoint) {
                            if (endpoint.self().value == 1) launchers[1]->report("x");
                            endpoint.compute(Step{0}, 100);
                          });
  EXPECT_EQ(errors[0], "the disk is full");
  EXPECT_EQ(errors[1], "the disk is full");
}

TEST(Failures, KeepTheirKindAndWords) {
  const std::exception_ptr lost =
      failure_of(text_of(std::make_exception_ptr(PeerLost(WorkerId{12}, "worker 12 is gone"))));
  try {
    std::rethrow_exception(lost);
  } catch (const PeerLost& error) {
    EXPECT_EQ(error.peer(), WorkerId{12});
    EXPECT_STREQ(error.what(), "worker 12 is gone");
  }
  EXPECT_THROW(
      std::rethrow_exception(failure_of(text_of(std::make_exception_ptr(UsageError("a"))))),
      UsageError);
  EXPECT_THROW(
      std::rethrow_exception(failure_of(text_of(std::make_exception_ptr(LogicError("a"))))),
      LogicError);
  EXPECT_THROW(std::rethrow_exception(failure_of(text_of(std::make_exception_ptr(Timeout("a"))))),
               Timeout);
  try {
    std::rethrow_exception(
        failure_of(text_of(std::make_exception_ptr(std::runtime_error("boom")))));
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "boom");
  }
  EXPECT_EQ(failure_of(""), nullptr);
}

TEST(Envelopes, AreSealedAgainstEveryChangedByte) {
  const SealKey key = seal_key("secret", {1}, {2});
  const Envelope envelope{.sequence = 5, .bytes = 80, .from = 1, .tag = 77};
  const std::uint64_t seal = seal_of(key, envelope);
  for (std::size_t at = sizeof envelope.seal; at < sizeof envelope; ++at) {
    Envelope changed = envelope;
    reinterpret_cast<unsigned char*>(&changed)[at] ^= 1;
    EXPECT_NE(seal_of(key, changed), seal) << at;
  }
  EXPECT_NE(seal_of(seal_key("secret", {2}, {1}), envelope), seal);
  EXPECT_NE(seal_of(seal_key("another", {1}, {2}), envelope), seal);
}

}  // namespace
}  // namespace huddle
