#include "huddle/transport/process/store.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/transport/process/sockets.h"

namespace huddle {
namespace {

constexpr Seconds kPatience = 60;

template <typename Kind>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Kind& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// As anybody who knows the port can speak to it.
c10::intrusive_ptr<c10d::TCPStore> stranger(const HostPort& place) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.waitWorkers = false;
  return c10::make_intrusive<c10d::TCPStore>(place.host, options);
}

TEST(Store, CarriesBytesFromOneToTheOthers) {
  const StoreHost host;
  Store one(host.place(), "token", kPatience);
  Store other(host.place(), "token", kPatience);
  const std::string bytes("a\0b\xff", 4);
  EXPECT_FALSE(other.has("key"));
  one.set("key", bytes);
  one.set("empty", "");
  EXPECT_EQ(other.get("key", kPatience), bytes);
  EXPECT_EQ(other.get("empty", kPatience), "");
  one.set("key", "new");
  EXPECT_EQ(one.get("key", kPatience), "new");
  const std::string large(3'000'000, 'x');
  one.set("large", large);
  EXPECT_EQ(other.get("large", kPatience), large);
}

TEST(Store, WaitsForAKeyThatIsSetLater) {
  const StoreHost host;
  Store store(host.place(), "token", kPatience);
  std::thread later([&] {
    Store other(host.place(), "token", kPatience);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    other.set("late", "here");
  });
  EXPECT_EQ(store.get("late", kPatience), "here");
  later.join();
}

TEST(Store, NamesTheKeyThatDoesNotCome) {
  const StoreHost host;
  Store store(host.place(), "token", kPatience);
  EXPECT_EQ(
      message_of<Timeout>([&] { store.get("address/3", 0.1); }),
      "nobody has set 'address/3' in the store at " + text_of(host.place()) + " within 0.1 s.");
  store.set("address/3", "works all the same");
  EXPECT_EQ(store.get("address/3", kPatience), "works all the same");
}

TEST(Store, CountsThoseWhoComeUnderOneKey) {
  const StoreHost host;
  Store one(host.place(), "token", kPatience);
  Store other(host.place(), "token", kPatience);
  EXPECT_EQ(one.add("rank/0"), 1);
  EXPECT_EQ(other.add("rank/1"), 1);
  EXPECT_EQ(other.add("rank/0"), 2);
}

TEST(Store, KeepsJobsWithDifferentTokensApart) {
  const StoreHost host;
  Store one(host.place(), "token", kPatience);
  Store other(host.place(), "another", kPatience);
  one.set("key", "mine");
  EXPECT_FALSE(other.has("key"));
  EXPECT_EQ(one.add("count"), 1);
  EXPECT_EQ(other.add("count"), 1);
}

TEST(Store, RefusesWhatSomebodyWithoutTheTokenHasWritten) {
  const StoreHost host;
  Store store(host.place(), "token", kPatience);
  store.set("address/0", "mine");
  store.set("address/1", "too");
  const auto outside = stranger(host.place());
  std::string first;
  std::string second;
  for (const std::string& key : outside->listKeys()) {
    EXPECT_FALSE(holds(key, "token"));
    // The server keeps keys with a prefix of its own, which its client adds again.
    if (key.ends_with("address/0")) first = key.substr(key.find("huddle/"));
    if (key.ends_with("address/1")) second = key.substr(key.find("huddle/"));
  }
  ASSERT_FALSE(first.empty() || second.empty());
  const std::vector<std::uint8_t> sealed = outside->get(second);
  for (const std::vector<std::uint8_t>& forged :
       {sealed, std::vector<std::uint8_t>{}, std::vector<std::uint8_t>(31),
        std::vector<std::uint8_t>(99)}) {
    outside->set(first, forged);
    outside->get(first);  // Its own writes are in order: the store has it by now.
    EXPECT_TRUE(holds(message_of<TransportError>([&] { store.get("address/0", kPatience); }),
                      "written by somebody who does not know this job's token"));
  }
  EXPECT_EQ(store.get("address/1", kPatience), "too");
}

TEST(Store, SaysWhereNobodyListens) {
  HostPort place;
  {
    const StoreHost host;
    place = host.place();
  }
  const Seconds begin = steady_seconds();
  const std::string message = message_of<UsageError>([&] { Store(place, "token", 0.3); });
  EXPECT_LT(steady_seconds() - begin, 20);
  EXPECT_TRUE(
      message.starts_with("no store at " + text_of(place) + " within 0.3 s: Connection refused"))
      << message;
  EXPECT_TRUE(holds(message_of<UsageError>([] {
                      Store({"no.such.host.invalid", 1}, "", 0.1);
                    }),
                    "no store at no.such.host.invalid:1 within 0.1 s: "));
}

TEST(Store, DoesNotHangOnWhatIsNoStore) {
  const ListeningSocket mute({"127.0.0.1", 0});  // Accepts, and never says a word.
  const Seconds begin = steady_seconds();
  const std::string message = message_of<UsageError>([&] {
    Store({"127.0.0.1", mute.port()}, "token", 0.5);
  });
  EXPECT_LT(steady_seconds() - begin, 30);
  EXPECT_TRUE(holds(message, "what listens there is no store")) << message;
}

TEST(Store, WaitsForAHostThatComesLater) {
  HostPort place;
  {
    const StoreHost host;
    place = host.place();
  }
  std::unique_ptr<StoreHost> host;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    host = std::make_unique<StoreHost>(place);
  });
  EXPECT_NO_THROW(Store(place, "token", kPatience));
  later.join();
}

TEST(Store, TellsWhenItsHostIsGone) {
  auto host = std::make_unique<StoreHost>();
  const std::string place = text_of(host->place());
  Store store(host->place(), "token", kPatience);
  store.set("key", "value");
  EXPECT_EQ(store.get("key", kPatience), "value");
  host.reset();
  EXPECT_TRUE(message_of<TransportError>([&] {
                store.has("key");
              }).starts_with("the store at " + place + " is lost: "));
  EXPECT_THROW(store.set("key", "again"), TransportError);
}

TEST(StoreHost, ListensAtItsOwnAddressAlone) {
  const StoreHost host({"127.0.0.2", 0});
  EXPECT_EQ(await_listener(host.place(), 10), "");
  EXPECT_NE(await_listener({"127.0.0.1", host.place().port}, 0), "");
}

TEST(StoreHost, ListensNoMoreWhenItIsGone) {
  for (int i = 0; i < 20; ++i) {
    HostPort place;
    {
      const StoreHost host;
      place = host.place();
    }
    EXPECT_EQ(await_listener(place, 0), "Connection refused");
  }
}

TEST(StoreHost, SaysWhereItCannotListen) {
  const StoreHost host;
  EXPECT_EQ(
      message_of<UsageError>([&] { const StoreHost second(host.place()); }),
      "cannot listen at " + text_of(host.place()) +
          ": Address already in use; name an address of this machine and a port that is free.");
  EXPECT_TRUE(holds(message_of<UsageError>([] {
                      const StoreHost away({"192.0.2.1", 0});
                    }),
                    "cannot listen at 192.0.2.1:0: "));
}

TEST(AwaitWorkers, ReturnsWhenAllHaveCome) {
  const StoreHost host;
  Store store(host.place(), "token", kPatience);
  for (const int rank : {2, 0, 1}) store.set(key_of("address", WorkerId{rank}), "x");
  EXPECT_NO_THROW(await_workers(store, "address", 3, kPatience));
  EXPECT_NO_THROW(await_workers(store, "nothing", 0, 0));
}

TEST(AwaitWorkers, NamesThoseWhoHaveNot) {
  const StoreHost host;
  Store store(host.place(), "token", kPatience);
  store.set(key_of("address", WorkerId{1}), "x");
  EXPECT_TRUE(message_of<UsageError>([&] {
                await_workers(store, "address", 4, 0.1);
              }).starts_with("workers 0, 2, 3 of 4 did not come within 0.1 s; "));
  store.set(key_of("address", WorkerId{0}), "x");
  store.set(key_of("address", WorkerId{3}), "x");
  EXPECT_TRUE(message_of<UsageError>([&] {
                await_workers(store, "address", 4, 0.1);
              }).starts_with("worker 2 of 4 did not come within 0.1 s; "));
  EXPECT_TRUE(message_of<UsageError>([&] {
                await_workers(store, "address", 100, 0);
              }).starts_with("workers 2, 4, 5, 6, 7, 8, 9, 10 and 89 more of 100 did not come"));
}

TEST(AddressTowards, IsTheInterfaceThatLeadsThere) {
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_TRUE(holds(message_of<UsageError>([] { address_towards("no.such.host.invalid"); }),
                    "--store-address"));
}

}  // namespace
}  // namespace huddle
