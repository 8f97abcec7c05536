// What the engine of processes does beyond the conformance suite: who is heard, in which order, and
// what is said of whom. Workers are threads here, each with an engine and a wire of its own.

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <thread>

#include "huddle/base/error.h"
#include "huddle/base/pack.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/transport/process/envelope.h"
#include "huddle/transport/process/failure.h"
#include "huddle/transport/process/goodbye.h"
#include "huddle/transport/process/launcher.h"
#include "huddle/transport/process/post_office.h"
#include "tests/support/forgery.h"
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
                             .startup = {2},
                             .farewell = {20},
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

  std::vector<MemoryMessage> operator()(WorkerId, MemoryMessage message) {
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
           .disturb = [=](WorkerId to,
                          MemoryMessage message) { return (*stranger)(to, std::move(message)); },
           .warnings = &warnings},
          exchange));
  EXPECT_GT(stranger->forged(), 1000);
  ASSERT_FALSE(warnings.empty());
  EXPECT_LT(warnings.size(), 120u) << "who sends much fills the log";
  bool names_sender = false;
  for (const std::string& warning : warnings)
    names_sender = names_sender || warning.find("claims to be of worker 1") != std::string::npos;
  EXPECT_TRUE(names_sender);
}

// Says such things between any two messages. Who knows the token and says what can be, in the name
// of a worker whose turn it is, cannot be told from that worker: the token is all that tells a job
// from the rest of the world. So no such message is among these.
class Insider {
 public:
  explicit Insider(Random::Seed seed) : random_(seed) {}

  std::vector<MemoryMessage> operator()(WorkerId to, const MemoryMessage& message) {
    std::vector<MemoryMessage> arriving;
    for (int i = 0; i < 4; ++i) arriving.push_back(forged(to, message));
    arriving.push_back(message);
    arriving.push_back(forged(to, message));
    forged_ += 5;
    return arriving;
  }

  int forged() const { return forged_; }

 private:
  MemoryMessage forged(WorkerId to, const MemoryMessage& message) {
    Forgery forgery{.sealed_to = to, .data = message.data};
    std::memcpy(&forgery.envelope, message.header.data(), sizeof forgery.envelope);
    forgery.sealed_from = {forgery.envelope.from};
    Envelope& envelope = forgery.envelope;
    switch (const std::uint64_t kind = random_.below(std::size(kForgeries) + 3)) {
      case 0:  // Its turn is long over.
        if (envelope.sequence < 100) return forged(to, message);
        envelope.sequence = random_.below(envelope.sequence - 50);
        break;
      case 1:  // Its turn may come, but not as this.
        envelope.sequence += random_.below(3);
        envelope.kind = Envelope::Kind::ending;
        forgery.put(no_goodbye(random_));
        if (random_.below(4) > 0) break;
        envelope.kind = Envelope::Kind::loss;
        forgery.put(std::string(random_.below(2000), 'x'));
        break;
      case 2:  // Everybody reports to worker 0.
        if (to == WorkerId{0}) return forged(to, message);
        envelope.kind = Envelope::Kind::report;
        break;
      default: kForgeries[kind - 3].forge(forgery, random_);
    }
    return forgery.sealed();
  }

  Random random_;
  int forged_ = 0;
};

TEST(Processes, AreNotDisturbedByThousandsOfImpossibleMessagesUnderTheirOwnToken) {
  for (const auto order : {MemoryNetwork::Order::kept, MemoryNetwork::Order::mixed}) {
    Insider insider(order == MemoryNetwork::Order::kept ? 8 : 9);
    std::vector<std::string> warnings;
    expect_none(
        run({.workers = 3, .disturb = std::ref(insider), .order = order, .warnings = &warnings},
            exchange));
    EXPECT_GT(insider.forged(), 1000);
    EXPECT_LT(warnings.size(), 120u) << "who sends much fills the log";
    for (const char* const sender : {"worker 0", "worker 1", "worker 2"})
      EXPECT_TRUE(std::ranges::any_of(warnings, [&](const std::string& warning) {
        return warning.find(concat("claims to be of ", sender, " ")) != std::string::npos;
      })) << sender;
  }
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

// Nothing is ever sent over it.
class IdleWire final : public Wire {
 public:
  void send(WorkerId, std::span<const std::byte>, std::span<const std::byte>, Done) override {}
  void fetch(WorkerId, Handle, std::span<std::byte>, Done) override {}
  void let_go(Handle) override { ++let_go_; }
  void hang_up(WorkerId, const std::string&) override {}
  bool progress(Listener&) override { return false; }
  Sleep prepare_sleep() override { return Sleep::blind; }
  int descriptor() const override { return -1; }

  int has_let_go() const { return let_go_; }

 private:
  int let_go_ = 0;
};

// Of worker 0, for whom no run has begun yet: so whatever is taken waits.
class WaitingOffice : public testing::Test {
 protected:
  WaitingOffice()
      : office_(wire_,
                {.self = {0},
                 .workers = 3,
                 .token = "secret",
                 .warn = [this](const std::string& warning) { warnings_.push_back(warning); },
                 .most_early = 1 << 20}) {}
  ~WaitingOffice() override { office_.close(); }

  static Forgery message(std::uint64_t sequence, std::size_t bytes) {
    Forgery message{.envelope = {.sequence = sequence, .from = 1, .type = 0},
                    .sealed_from = {1},
                    .sealed_to = {0}};
    message.put(std::string(bytes, 'x'));
    return message;
  }

  void arrive(Forgery forgery) {
    const MemoryMessage message = forgery.sealed();
    office_.arrived({message.header, message.data.size(), message.data, {}});
  }

  void arrive_waiting(Forgery forgery) {
    const MemoryMessage message = forgery.sealed();
    office_.arrived({message.header, message.data.size(), {}, ++handles_});
  }

  IdleWire wire_;
  std::vector<std::string> warnings_;
  PostOffice office_;
  Wire::Handle handles_ = 0;
};

TEST_F(WaitingOffice, SaysWhyItThrowsAMessageAwayAndWhoseItClaimsToBe) {
  Random random(5);
  arrive(message(0, 8));
  EXPECT_TRUE(warnings_.empty());
  for (const KindOfForgery& kind : kForgeries) {
    IdleWire wire;
    std::vector<std::string> warnings;
    PostOffice office(
        wire,
        {.self = {0}, .workers = 3, .token = "secret", .warn = [&](const std::string& warning) {
           warnings.push_back(warning);
         }});
    Forgery forgery = message(0, 8);
    kind.forge(forgery, random);
    const bool has_sender = forgery.header_bytes >= offsetof(Envelope, from) + sizeof(int);
    const int sender = has_sender ? forgery.envelope.from : -1;
    const MemoryMessage sealed = forgery.sealed();
    office.arrived({sealed.header, sealed.data.size(), {}, Wire::Handle{1}});
    EXPECT_EQ(wire.has_let_go(), 1) << kind.fault;
    ASSERT_EQ(warnings.size(), 1u) << kind.fault;
    EXPECT_EQ(warnings[0], concat("worker 0: a message that claims to be of worker ", sender,
                                  " was thrown away, because it ", kind.fault, " (1 so far)"));
  }
}

TEST_F(WaitingOffice, KeepsABoundedAmountOfWhatComesBeforeItsTurn) {
  for (std::uint64_t i = 1; i <= 2048; ++i) arrive(message(i, 4096));
  ASSERT_FALSE(warnings_.empty());
  EXPECT_NE(warnings_.back().find("as too much does (1024 so far)"), std::string::npos)
      << warnings_.back();
  for (int i = 0; i < 5000; ++i) arrive_waiting(message(3, 4096));
  EXPECT_GT(wire_.has_let_go(), 4900) << "what waits elsewhere takes room, too";
}

TEST_F(WaitingOffice, KeepsWhatWaitsAtItsSender) {
  for (std::uint64_t i = 0; i < 1000; ++i) arrive_waiting(message(i, 100'000));
  EXPECT_EQ(wire_.has_let_go(), 0);
  EXPECT_TRUE(warnings_.empty());
  office_.close();
  EXPECT_EQ(wire_.has_let_go(), 1000);
}

TEST(Goodbyes, ThatNobodyCanHaveSaidAreNotRead) {
  const Goodbye goodbye{.reason = "done", .at = 1, .has_seen = 5, .has_left = {2, 4}};
  EXPECT_EQ(read_goodbye(packed(goodbye), 5).has_left, goodbye.has_left);
  EXPECT_THROW(read_goodbye(packed(goodbye), 4), LogicError) << "so much was not sent";
  Random random(6);
  for (int i = 0; i < 1000; ++i) EXPECT_THROW(read_goodbye(no_goodbye(random), 5), LogicError);
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
