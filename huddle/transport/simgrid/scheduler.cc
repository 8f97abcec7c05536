#include "huddle/transport/simgrid/scheduler.h"

#include <cxxabi.h>

#include <algorithm>
#include <utility>

namespace huddle {
namespace {

namespace sg = simgrid::s4u;

// The runtime's record of exceptions that are being handled, as the C++ ABI for Itanium lays it
// out.
struct ExceptionGlobals {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

// Calls into SimGrid. Other actors may run meanwhile, on this very thread, and the runtime keeps
// track of exceptions by thread: each actor's share of that is put aside here and taken up again.
template <typename Call>
void switching(const Call& call) {
  auto* const globals = reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
  const ExceptionGlobals own = std::exchange(*globals, {});
  call();
  *globals = own;
}

class Actor final : public Scheduler::Thread {
 public:
  explicit Actor(sg::ActorPtr actor) : actor_(std::move(actor)) {}
  void join() override {
    switching([this] { actor_->join(); });
  }

 private:
  const sg::ActorPtr actor_;
};

}  // namespace

SimScheduler::SimScheduler(Platform& platform, double payload_scale)
    : platform_(platform),
      payload_scale_(payload_scale),
      sleepers_(static_cast<std::size_t>(platform.workers()) + 1) {}

void SimScheduler::lock() {
  if (is_interrupted_.load(std::memory_order_relaxed) && is_interrupted_.exchange(false)) told_();
}

void SimScheduler::unlock() {
  while (!to_do_.empty()) {
    std::function<void()> call = std::move(to_do_.front());
    to_do_.pop_front();
    switching(call);
  }
}

void SimScheduler::rest(WorkerId worker, Time until) {
  Sleeper sleeper;
  if (spare_bells_.empty()) {
    sleeper.bell = sg::Semaphore::create(0);
  } else {
    sleeper.bell = std::move(spare_bells_.back());
    spare_bells_.pop_back();
  }
  auto& sleepers = sleepers_[static_cast<std::size_t>(worker.value)];
  sleepers.push_back(&sleeper);
  unlock();
  switching([&] {
    if (until == kForever)
      sleeper.bell->acquire();
    else if (sleeper.bell->acquire_timeout(std::max(0.0, until - now())) && sleeper.is_woken)
      sleeper.bell->acquire();  // Woken in the last moment: the bell is about to ring.
  });
  lock();
  if (!sleeper.is_woken) std::erase(sleepers, &sleeper);
  spare_bells_.push_back(std::move(sleeper.bell));
}

void SimScheduler::wake(WorkerId worker) {
  auto& sleepers = sleepers_[static_cast<std::size_t>(worker.value)];
  for (Sleeper* sleeper : sleepers) {
    sleeper->is_woken = true;
    to_do_.push_back([bell = sleeper->bell] { bell->release(); });
  }
  sleepers.clear();
}

std::unique_ptr<Scheduler::Thread> SimScheduler::start(WorkerId worker,
                                                       std::function<void()> body) {
  sg::ActorPtr actor;
  switching([&] { actor = sg::Actor::create("program", platform_.host(worker), std::move(body)); });
  return std::make_unique<Actor>(std::move(actor));
}

std::optional<Scheduler::Arrival> SimScheduler::carry(const Parcel& parcel,
                                                      std::function<void(const Arrival&)> arrived) {
  const Time begin = now();
  if (parcel.lane == kMeasureLane) return Arrival{begin, begin};
  const Platform::Way& way = platform_.way(parcel.from, parcel.to);
  if (platform_.is_cut(way)) return Arrival{begin, begin, true};
  const Platform::Stream stream{&way, parcel.lane};
  const double bytes = parcel.bytes * payload_scale_;
  // Control messages are a handful of bytes: they take their latency, from the moment they are
  // sent. Payload begins to travel when both ends are there, as large messages do.
  const bool is_control = parcel.kind == Kind::control;
  if (is_control || way.route.links.empty() || (bytes < 0.5 && !platform_.is_busy(stream))) {
    const Time end = std::max(begin, (is_control ? parcel.sent : begin) + way.route.latency);
    return Arrival{end, end};
  }
  Platform::Ended ended = [this, arrived = std::move(arrived)](Platform::Ending ending,
                                                               Time first_bytes) {
    lock();
    arrived({first_bytes, now(), ending == Platform::Ending::broken});
    unlock();
  };
  to_do_.push_back([this, stream, bytes, ended = std::move(ended)]() mutable {
    platform_.send(stream, bytes, std::move(ended));  // Called once.
  });
  return std::nullopt;
}

}  // namespace huddle
