// What can go wrong, in the two ways that matter: a programmer's mistake (`check`) and a fault of
// the world (exceptions).
//
// Messages are for people: they name the worker, the peer, the step, and the way out.

#pragma once

#include <stdexcept>
#include <string>

#include "huddle/base/ids.h"

namespace huddle {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A configuration that cannot work. Thrown before any work starts; the command line turns it into
// exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Somebody asked the run to stop (Ctrl-C). Not a fault.
class Interrupted : public Error {
 public:
  using Error::Error;
};

// The training itself went wrong: losses are not finite any more. Nobody's fault but the settings'.
class Diverged : public Error {
 public:
  using Error::Error;
};

// A fault of the network or of a peer.
class TransportError : public Error {
 public:
  using Error::Error;
};

// A wait outlasted its deadline although nobody is known to have died.
class Timeout : public TransportError {
 public:
  using TransportError::TransportError;
};

// A peer has ended: it died, failed or finished while somebody still waited for it.
class PeerLost : public TransportError {
 public:
  PeerLost(WorkerId peer, const std::string& message) : TransportError(message), peer_(peer) {}
  WorkerId peer() const { return peer_; }

 private:
  WorkerId peer_;
};

// A broken invariant: a bug in Huddle or in code that calls it against a contract.
class LogicError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws LogicError naming the place unless `condition` holds. Always on; keep it out of inner
// loops.
inline void check(bool condition, const char* message, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    throw LogicError(std::string(file) + ":" + std::to_string(line) + ": " + message);
}

}  // namespace huddle
