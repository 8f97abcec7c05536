#include "huddle/transport/service.h"

#include "huddle/base/text.h"

namespace huddle {
namespace {

// How often a service that waits looks up, which nobody notices.
constexpr Deadline kLookUp{60};

}  // namespace

void wait_patiently(Pending& pending) {
  if (!pending.under_way()) return;
  Pending* const alone = &pending;
  wait_patiently(std::span(&alone, 1));
  pending.wait(kLookUp);
}

std::size_t wait_patiently(std::span<Pending* const> pendings) {
  while (true) {
    try {
      return wait_any(pendings, kLookUp);
    } catch (const Timeout&) {
      continue;
    }
  }
}

Service::Service(Endpoint& endpoint, Terms terms) : endpoint_(endpoint), terms_(std::move(terms)) {}

void Service::start(std::function<void(Endpoint&)> program) {
  check(is_here() && !has_started_, "a service starts once, beside its home");
  has_started_ = true;
  program_ = endpoint_.spawn(terms_.lane, std::move(program));
}

void Service::await(Pending& pending) {
  if (terms_.watched.size() > 0 && !watch_.under_way()) watch_ = endpoint_.watch(terms_.watched);
  try {
    while (true) {
      std::vector<Pending*> any;
      if (watch_.under_way()) any.push_back(&watch_);
      any.push_back(&pending);
      if (program_.under_way() && &pending != &program_) any.push_back(&program_);
      Pending* const first = any[wait_any(any, terms_.deadline)];
      if (first == &pending) return;
      first->wait(terms_.deadline);  // Throws, or the program has done its work.
    }
  } catch (const PeerLost& lost) {
    explain(lost);
  }
}

void Service::wait(Pending& pending) {
  if (!pending.under_way()) return;
  await(pending);
  try {
    pending.wait(terms_.deadline);
  } catch (const PeerLost& lost) {
    explain(lost);
  }
}

void Service::rethrow() {
  if (program_.ready()) program_.wait(terms_.deadline);
}

void Service::join() { wait(program_); }

void Service::explain(const PeerLost& lost) const {
  throw PeerLost(lost.peer(), concat(lost.what(), "; ", terms_.without(lost.peer())));
}

}  // namespace huddle
