#include "huddle/transport/process/scheduler.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"

namespace huddle {
namespace {

// How often one looks, letting others run in between, before one sleeps: a sleep and its end cost
// as much as some ten looks.
constexpr int kLooks = 40;

// How long one sleeps on a descriptor at most: libraries notice deaths when they are looked at.
constexpr Seconds kLongestSleep = 0.2;

// How long one sleeps where nothing can wake one: ever longer, after a while for this share of the
// time that one has waited.
constexpr Seconds kShortestNap = 50e-6;
constexpr Seconds kLongNap = 4e-3;
constexpr Seconds kLongestNap = 20e-3;
constexpr double kShareOfWait = 1.0 / 32;

// How soon somebody stands in once nobody sees to the wire any more. A step computes for longer.
constexpr Seconds kStandInAfter = 10e-3;

class StdThread final : public Scheduler::Thread {
 public:
  explicit StdThread(std::function<void()> body) : thread_(std::move(body)) {}
  void join() override { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

class ProcessScheduler::Bell {
 public:
  Bell() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    check(descriptor_ >= 0, "this system has no event descriptor left");
  }
  ~Bell() { ::close(descriptor_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // REQUIRE: locked.
  void ring() {
    if (is_awaited_) ::eventfd_write(descriptor_, 1);
  }
  void await(bool awaited) {
    is_awaited_ = awaited;
    eventfd_t rung = 0;
    if (!awaited) ::eventfd_read(descriptor_, &rung);
  }

  // Sleeps until it rings, `other` (unless negative) is readable, or so much time has passed.
  void sleep(int other, Seconds seconds) const {
    std::array<pollfd, 2> awaited{pollfd{descriptor_, POLLIN, 0}, pollfd{other, POLLIN, 0}};
    const Seconds whole = std::floor(seconds);
    const timespec span{static_cast<std::time_t>(whole),
                        static_cast<long>((seconds - whole) * 1e9)};
    ::ppoll(awaited.data(), awaited.size(), &span, nullptr);
  }

 private:
  const int descriptor_;
  bool is_awaited_ = false;
};

ProcessScheduler::ProcessScheduler(Wire& wire, Wire::Listener& listener)
    : wire_(wire),
      listener_(listener),
      start_(steady_seconds()),
      bell_(std::make_unique<Bell>()),
      stand_in_bell_(std::make_unique<Bell>()),
      thread_([this] { stand_in(); }) {}

ProcessScheduler::~ProcessScheduler() { close(); }

void ProcessScheduler::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    left_.notify_all();
    stand_in_bell_->ring();
  }
  thread_.join();
}

Time ProcessScheduler::now() const { return steady_seconds() - start_ + ahead_; }

void ProcessScheduler::rest(WorkerId, Time until) {
  if (is_seen_to_) {
    bell_->ring();  // What this thread has begun may want to be seen to.
    ++resting_;
    changed_.wait_for(mutex_, std::max(0.0, until - now()));
    --resting_;
    return;
  }
  is_seen_to_ = true;
  see_to_wire(until);
  is_seen_to_ = false;
  if (resting_ > 0) changed_.notify_all();  // One of them takes over.
}

void ProcessScheduler::wake(WorkerId) {
  ++wakes_;
  if (resting_ > 0) changed_.notify_all();
  bell_->ring();
}

void ProcessScheduler::look() {
  if (!is_seen_to_) wire_.progress(listener_);
}

void ProcessScheduler::see_to_wire(Time until) {
  const std::uint64_t seen = wakes_;
  Naps naps{now()};
  int looks = 0;
  while (wakes_ == seen && now() < until) {
    if (wire_.progress(listener_)) {
      looks = 0;
      let_others_in();
      continue;
    }
    if (++looks > kLooks) {
      sleep(*bell_, until, naps);
      continue;
    }
    mutex_.unlock();
    std::this_thread::yield();
    mutex_.lock();
  }
}

// A stream of messages must not keep those out who want to compute, stop or report.
void ProcessScheduler::let_others_in() {
  constexpr int kTurns = 4;  // A mutex knows no order: whoever wants it may come late.
  for (int i = 0; i < kTurns && wanted_ > 0; ++i) {
    mutex_.unlock();
    std::this_thread::yield();
    mutex_.lock();
  }
}

void ProcessScheduler::sleep(Bell& bell, Time until, Naps& naps) {
  const Wire::Sleep kind = wire_.prepare_sleep();
  const bool is_blind = kind != Wire::Sleep::armed;
  const Seconds limit = std::clamp(kShareOfWait * (now() - naps.since), kLongNap, kLongestNap);
  naps.last =
      kind == Wire::Sleep::busy ? kShortestNap : std::clamp(2 * naps.last, kShortestNap, limit);
  const Seconds longest = std::min(until - now(), is_blind ? naps.last : kLongestSleep);
  bell.await(true);
  mutex_.unlock();
  bell.sleep(is_blind ? -1 : wire_.descriptor(), std::max(0.0, longest));
  mutex_.lock();
  bell.await(false);
}

void ProcessScheduler::stand_in() {
  const std::lock_guard lock(mutex_);
  Naps naps{now()};
  while (!is_closed_) {
    if (!is_seen_to_ && !wire_.progress(listener_)) {
      sleep(*stand_in_bell_, now() + kLongestSleep, naps);
      continue;
    }
    naps = {now()};
    if (is_seen_to_)
      left_.wait_for(mutex_, kStandInAfter);
    else
      let_others_in();
  }
}

std::unique_ptr<Scheduler::Thread> ProcessScheduler::start(WorkerId, std::function<void()> body) {
  return std::make_unique<StdThread>(std::move(body));
}

std::optional<Scheduler::Arrival> ProcessScheduler::carry(const Parcel& parcel,
                                                          std::function<void(const Arrival&)>) {
  return Arrival{parcel.sent, std::max(parcel.sent, now())};
}

}  // namespace huddle
