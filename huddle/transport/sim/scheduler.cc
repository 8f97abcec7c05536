#include "huddle/transport/sim/scheduler.h"

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

SimScheduler::SimScheduler(Platform& platform, PayloadScale payload_scale)
    : platform_(platform),
      payload_scale_(std::move(payload_scale)),
      resting_(static_cast<std::size_t>(platform.workers()) + 1) {}

void SimScheduler::lock() {
  if (is_interrupted_.load(std::memory_order_relaxed) && is_interrupted_.exchange(false)) told_();
}

void SimScheduler::rest(WorkerId worker, Time until) {
  Resting& resting = resting_[static_cast<std::size_t>(worker.value)];
  resting.sleepers.push_back({sg::Actor::self(), until});
  set_alarm(resting, until);
  switching([] { sg::this_actor::suspend(); });
  lock();
}

void SimScheduler::wake(WorkerId worker) {
  auto& sleepers = resting_[static_cast<std::size_t>(worker.value)].sleepers;
  for (const Sleeper& sleeper : sleepers)
    platform_.soon([this, actor = sleeper.actor] { resume(*actor); });
  sleepers.clear();
}

// SimGrid suspends an actor a little after that has called, and lets others go on in between.
void SimScheduler::resume(sg::Actor& actor) {
  if (actor.is_suspended())
    actor.resume();
  else
    platform_.when_all_rest([&actor] { actor.resume(); });
}

// One alarm a worker, which may ring too early: most rest until a deadline that never comes, and
// setting one for each rest would cost more than the rest.
void SimScheduler::set_alarm(Resting& resting, Time until) {
  if (until >= resting.alarm_at) return;
  if (resting.alarm != nullptr) resting.alarm->remove();
  resting.alarm_at = until;
  resting.alarm = Alarm::set(std::max(until, now()), [this, &resting] {
    resting.alarm = nullptr;
    resting.alarm_at = kForever;
    const auto late = std::partition(resting.sleepers.begin(), resting.sleepers.end(),
                                     [this](const Sleeper& each) { return each.until > now(); });
    for (auto sleeper = late; sleeper != resting.sleepers.end(); ++sleeper)
      sleeper->actor->resume();
    resting.sleepers.erase(late, resting.sleepers.end());
    for (const Sleeper& sleeper : resting.sleepers) set_alarm(resting, sleeper.until);
  });
}

void SimScheduler::end_alarms() {
  for (Resting& resting : resting_)
    if (resting.alarm != nullptr) std::exchange(resting.alarm, nullptr)->remove();
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
  Platform::Way& way = platform_.way(parcel.from, parcel.to);
  if (platform_.is_cut(way)) return Arrival{begin, begin, true};
  Platform::Stream& stream = platform_.stream(way, parcel.lane);
  const double bytes = parcel.bytes * payload_scale_;
  // Control messages are a handful of bytes: they take their latency, from the moment they are
  // sent. Payload begins to travel when both ends are there, as large messages do.
  const bool is_control = parcel.kind == Kind::control;
  if (is_control || way.route.links.empty() || (bytes < 0.5 && stream.flights.empty())) {
    const Time end = std::max(begin, (is_control ? parcel.sent : begin) + way.route.latency);
    return Arrival{end, end};
  }
  platform_.send(stream, bytes, std::move(arrived));
  return std::nullopt;
}

}  // namespace huddle
