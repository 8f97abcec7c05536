// The place where the processes of a job find one another: a small table of keys and values that
// one process hosts and all others reach by its address. It is libtorch's own TCPStore, so the
// agent of `torchrun` hosts one that Huddle can use as it is.
//
// The store knows no passwords: whoever reaches its port can ask for any key. So the keys of a job
// lie below a digest of its token, and each value is sealed with the token (HMAC-SHA-256 of key and
// value): a value that a stranger has written, or moved from another key, is refused. A stranger
// can still read addresses, which are no secret, and end the rendezvous by removing what is there.
//
// Every call has an end: what does not answer in time is given up, and the object with it.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "huddle/base/host_port.h"
#include "huddle/base/ids.h"

namespace huddle {

// Hosts the table for as long as it lives.
class StoreHost {
 public:
  // Listens at this address of this machine alone ("127.0.0.1"; a name stands for its first
  // address), at a port of the system's choice where `place.port` is 0. Throws UsageError where it
  // cannot listen there.
  explicit StoreHost(const HostPort& place = {"127.0.0.1", 0});
  ~StoreHost();
  StoreHost(const StoreHost&) = delete;
  StoreHost& operator=(const StoreHost&) = delete;

  // Where processes reach it, with the port that it has.
  const HostPort& place() const { return place_; }

 private:
  class Server;
  HostPort place_;
  std::unique_ptr<Server> server_;
};

// One job's part of the table, as one of its processes sees it. To be used by one thread at a time.
class Store {
 public:
  // Throws UsageError that names the place when nobody answers there within `patience`.
  Store(const HostPort& place, std::string token, Seconds patience);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // All throw TransportError when the store is gone, or does not answer for some seconds.

  // Replaces what was there.
  void set(const std::string& key, const std::string& value);

  // Waits for the key. Throws Timeout that names it after so many seconds, TransportError when
  // its value is not of this job.
  std::string get(const std::string& key, Seconds patience);

  // Counts one more under this key, which no value has, and returns how many there are now: 1 for
  // the first.
  int add(const std::string& key);

  bool has(const std::string& key);

  const HostPort& place() const { return place_; }

 private:
  class Connection;

  HostPort place_;
  std::string token_;
  std::string prefix_;  // Of all keys.
  std::shared_ptr<Connection> connection_;
};

// What worker `rank` has set of a topic ("address"): "address/3".
std::string key_of(const std::string& topic, WorkerId rank);

// Returns once each of the workers 0 to workers-1 has set its key of this topic. Throws UsageError
// naming those who have not after `patience`, which --rendezvous sets, and what `between` throws,
// which is called now and then.
void await_workers(
    Store& store, const std::string& topic, int workers, Seconds patience,
    const std::function<void()>& between = [] {});

}  // namespace huddle
