// What the store needs of sockets: one that listens at one address alone, and whether anybody
// listens somewhere.

#pragma once

#include <string>

#include "huddle/base/host_port.h"
#include "huddle/base/ids.h"

namespace huddle {

// Accepts connections at this address, or at the first one of this name; port 0: one that is free.
// Closed with the object, unless it is released.
class ListeningSocket {
 public:
  // Throws UsageError where it cannot listen there.
  explicit ListeningSocket(const HostPort& place);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int number() const { return number_; }
  int port() const;

  // It is somebody else's to close from here on.
  void release() { number_ = -1; }

 private:
  int number_ = -1;
};

// Waits until somebody accepts connections there. Returns why nobody does after `patience`; empty:
// somebody does.
std::string await_listener(const HostPort& place, Seconds patience);

// The address of this machine from which messages to `host` leave, found without sending any.
// Throws UsageError where the name of the host is unknown or no way leads there.
std::string address_towards(const std::string& host);

}  // namespace huddle
