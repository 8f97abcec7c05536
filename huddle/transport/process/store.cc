#include "huddle/transport/process/store.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <string_view>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/sha256.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/transport/process/sockets.h"

namespace huddle {
namespace {

constexpr Seconds kAnswerSeconds = 30;   // Of a store that is there, however busy its machine.
constexpr Seconds kLongestPause = 0.05;  // Between two looks for a key.
constexpr std::size_t kPrefixDigits = 32;
constexpr std::size_t kMostNamed = 8;  // Of the workers that a message names.

using Bytes = std::vector<std::uint8_t>;

std::chrono::milliseconds milliseconds(Seconds seconds) {
  return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1000)));
}

void pause(Seconds seconds) { std::this_thread::sleep_for(milliseconds(seconds)); }

// Whatever `function` does, on a thread of its own: libtorch's calls can block without an end where
// the other side has stopped or is no store at all. A call that is given up keeps what it uses, and
// its thread, until the process ends. Throws Timeout.
template <typename Function>
std::invoke_result_t<Function> within(Seconds patience, Function function) {
  std::packaged_task<std::invoke_result_t<Function>()> task(std::move(function));
  auto result = task.get_future();
  std::thread caller(std::move(task));
  if (result.wait_for(milliseconds(patience)) != std::future_status::ready) {
    caller.detach();
    throw Timeout(concat("no answer in ", patience, " s"));
  }
  caller.join();
  return result.get();
}

Digest seal_of(const std::string& token, const std::string& key, const std::string& value) {
  return hmac_sha256(token, concat("huddle store value ", key.size(), ' ', key, value));
}

}  // namespace

class StoreHost::Server {
 public:
  explicit Server(const HostPort& place) {
    ListeningSocket socket(place);
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(socket.port());
    options.isServer = true;
    options.waitWorkers = false;
    options.masterListenFd = socket.number();
    store_ = c10::make_intrusive<c10d::TCPStore>(place.host, options);
    socket.release();  // The store's own now.
  }

  int port() const { return store_->getPort(); }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

StoreHost::StoreHost(const HostPort& place)
    : place_(place), server_(std::make_unique<Server>(place)) {
  place_.port = server_->port();
}

StoreHost::~StoreHost() = default;

class Store::Connection {
 public:
  using Torch = c10::intrusive_ptr<c10d::TCPStore>;

  Connection(const HostPort& place, Seconds patience) : name_(text_of(place)) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(place.port);
    options.waitWorkers = false;
    options.timeout = milliseconds(patience);
    store_ = within(patience, [host = place.host, options] {
      return c10::make_intrusive<c10d::TCPStore>(host, options);
    });
  }

  // What `call` makes of libtorch's store, or TransportError.
  template <typename Call>
  std::invoke_result_t<Call, c10d::TCPStore&> ask(Call call) {
    if (is_given_up_) throw TransportError(lost("it has not answered before"));
    try {
      return within(kAnswerSeconds, [store = store_, call] { return call(*store); });
    } catch (const Timeout& error) {
      is_given_up_ = true;
      throw TransportError(lost(error.what()));
    } catch (const c10::Error& error) {
      is_given_up_ = true;
      throw TransportError(lost(error.what_without_backtrace()));
    }
  }

 private:
  std::string lost(std::string_view reason) const {
    return concat("the store at ", name_, " is lost: ", reason.substr(0, reason.find('\n')), ".");
  }

  const std::string name_;
  Torch store_;
  bool is_given_up_ = false;
};

Store::Store(const HostPort& place, std::string token, Seconds patience)
    : place_(place),
      token_(std::move(token)),
      prefix_(concat("huddle/",
                     hex_of(hmac_sha256(token_, "huddle store keys")).substr(0, kPrefixDigits),
                     "/")) {
  const Seconds begin = steady_seconds();
  std::string problem = await_listener(place, patience);
  if (problem.empty()) {
    try {
      const Seconds left = std::max(1.0, patience - (steady_seconds() - begin));
      connection_ = std::make_shared<Connection>(place, left);
      return;
    } catch (const Timeout&) {
      problem = "what listens there is no store of Huddle or torchrun";
    } catch (const c10::Error&) {
      problem = "what listens there is no store of Huddle or torchrun";
    }
  }
  throw UsageError(concat("no store at ", text_of(place), " within ", patience, " s: ", problem,
                          "; check that the job's first process (or huddle launch) runs, that the "
                          "address is one that this machine can reach, and that no firewall is "
                          "between."));
}

Store::~Store() = default;

void Store::set(const std::string& key, const std::string& value) {
  const Digest seal = seal_of(token_, key, value);
  Bytes sealed(seal.begin(), seal.end());
  sealed.insert(sealed.end(), value.begin(), value.end());
  const std::string full = prefix_ + key;
  connection_->ask([=](c10d::TCPStore& store) { store.set(full, sealed); });
}

std::string Store::get(const std::string& key, Seconds patience) {
  const Seconds end = steady_seconds() + patience;
  for (Seconds rest = 0.001; !has(key); rest = std::min(2 * rest, kLongestPause)) {
    if (steady_seconds() >= end)
      throw Timeout(concat("nobody has set '", key, "' in the store at ", text_of(place_),
                           " within ", patience, " s."));
    pause(rest);
  }
  const std::string full = prefix_ + key;
  const Bytes sealed = connection_->ask([=](c10d::TCPStore& store) { return store.get(full); });
  Digest seal{};
  const std::size_t head = std::min(seal.size(), sealed.size());
  std::copy_n(sealed.begin(), head, seal.begin());
  std::string value(sealed.begin() + static_cast<std::ptrdiff_t>(head), sealed.end());
  if (head < seal.size() || !is_equal_in_constant_time(seal, seal_of(token_, key, value)))
    throw TransportError(concat("'", key, "' in the store at ", text_of(place_),
                                " was written by somebody who does not know this job's token."));
  return value;
}

int Store::add(const std::string& key) {
  const std::string full = prefix_ + key;
  return static_cast<int>(
      connection_->ask([=](c10d::TCPStore& store) { return store.add(full, 1); }));
}

bool Store::has(const std::string& key) {
  const std::string full = prefix_ + key;
  return connection_->ask([=](c10d::TCPStore& store) { return store.check({full}); });
}

std::string key_of(const std::string& topic, WorkerId rank) {
  return concat(topic, '/', rank.value);
}

void await_workers(Store& store, const std::string& topic, int workers, Seconds patience,
                   const std::function<void()>& between) {
  const Seconds end = steady_seconds() + patience;
  std::vector<int> missing;
  for (int rank = workers - 1; rank >= 0; --rank) missing.push_back(rank);
  Seconds rest = 0.001;
  while (true) {
    // From the first on: one that is not there yet is asked for again, the others once.
    while (!missing.empty() && store.has(key_of(topic, WorkerId{missing.back()})))
      missing.pop_back();
    if (missing.empty()) return;
    between();
    if (steady_seconds() >= end) break;
    pause(rest);
    rest = std::min(2 * rest, kLongestPause);
  }
  std::vector<std::string> names;
  for (auto rank = missing.rbegin(); rank != missing.rend(); ++rank)
    if (!store.has(key_of(topic, WorkerId{*rank}))) names.push_back(std::to_string(*rank));
  if (names.empty()) return;
  const std::size_t unnamed = names.size() > kMostNamed ? names.size() - kMostNamed : 0;
  names.resize(names.size() - unnamed);
  throw UsageError(concat(
      names.size() == 1 ? "worker " : "workers ", joined(names),
      unnamed > 0 ? concat(" and ", unnamed, " more") : "", " of ", workers,
      " did not come within ", patience,
      " s; check that all of them were started with one store and one HUDDLE_TOKEN, and give slow "
      "machines more time with --rendezvous."));
}

}  // namespace huddle
