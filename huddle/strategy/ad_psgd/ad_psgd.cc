#include "huddle/strategy/ad_psgd/ad_psgd.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <iterator>
#include <set>
#include <span>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/replica/averages_in_flight.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/patience.h"
#include "huddle/strategy/step.h"
#include "huddle/strategy/step_budget.h"

namespace huddle {
namespace {

constexpr Tag kRequestTag{Kind::control, Purpose::request, kPairLane, {}};
constexpr Tag kModelTag{Kind::payload, Purpose::message, kPairLane, {}};

bool is_active(WorkerId worker) { return worker.value % 2 == 0; }

class AdPsgd final : public Strategy {
 public:
  AdPsgd(const Options& options, const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        meter_(context.meter),
        deadline_(context.averaging.deadline),
        clip_norm_(context.clip_norm),
        seed_(static_cast<Random::Seed>(options.integer("seed"))),
        is_active_(is_active(context.endpoint.self())),
        budget_(context.endpoint, context.steps * context.endpoint.workers(),
                context.averaging.deadline),
        in_flight_(context.endpoint, context.meter, context.averaging.deadline) {
    replica_.cut(1);
    for (int worker = 0; worker < endpoint_.workers(); ++worker)
      if (is_active(WorkerId{worker}) != is_active_) others_.insert(WorkerId{worker});
  }

  void before_forward(Step step) override {
    start();
    budget_.ask();
    group_ = Group({endpoint_.self()});
    if (!is_active_ || others_.empty()) return;
    const WorkerId peer = draw_peer(step);
    group_ = Group({endpoint_.self(), peer});
    in_flight_.start(kPairLane,
                     [this, peer](Endpoint& beside) { return ask_for_average(beside, peer); });
  }

  // The step is taken on what averages have made of the model since its gradient was begun.
  Update before_update(Step) override {
    settle();
    clip(replica_.gradients(), clip_norm_);
    endpoint_.exclusive([&] {
      replica_.parameters().copy_(shared_);
      replica_.update(replica_.everything());
      shared_.copy_(replica_.parameters());
    });
    return Update::done;
  }

  Outcome parameters_updated(Step step) override { return outcome(step); }

  Outcome skipped(Step step) override {
    settle();
    return outcome(step);
  }

  // A passive worker answers until no active one asks any more.
  void finish() override {
    start();
    if (is_active_)
      for (const WorkerId peer : others_) say_farewell(peer);
    else
      service_.wait(deadline_);
    settle();
    endpoint_.exclusive([&] { replica_.parameters().copy_(shared_); });
    budget_.leave();
  }

  void save(Archive& archive) const override {
    if (budget_.is_limited()) archive.numbers["begun"] = budget_.begun();
  }

  void load(const Archive& archive) override {
    if (archive.numbers.contains("begun")) budget_.resume(archive.numbers.at("begun"));
  }

 private:
  // Not before the first step: only then is the model that everybody begins with in the replica.
  void start() {
    if (shared_.defined()) return;
    shared_ = replica_.parameters().clone();
    sent_ = at::empty_like(shared_);
    received_ = at::empty_like(shared_);
    if (!is_active_)
      service_ = endpoint_.spawn(kPairLane, [this](Endpoint& beside) { serve(beside); });
  }

  Outcome outcome(Step step) {
    const StepBudget::Grant grant = budget_.answer();
    const double progress = budget_.is_limited()
                                ? static_cast<double>(grant.steps) / endpoint_.workers()
                                : static_cast<double>(step.value + 1);
    Outcome outcome{.group = group_, .progress = progress, .go_on = grant.go_on};
    // The passive partner knows nothing of the pair at its own step.
    if (group_.size() > 1)
      outcome.meeting = step.value * endpoint_.workers() + endpoint_.self().value;
    return outcome;
  }

  WorkerId draw_peer(Step step) const {
    Random random(seed_, {static_cast<std::uint64_t>(endpoint_.self().value),
                          static_cast<std::uint64_t>(step.value)});
    return *std::next(others_.begin(), static_cast<std::ptrdiff_t>(random.below(others_.size())));
  }

  // The meter hears of the exchanges that have ended, those of the service too. If that failed,
  // nobody averages with this worker any more.
  void settle() {
    if (service_.ready()) service_.wait(deadline_);
    in_flight_.settle(endpoint_.now());
    std::vector<Exchange> served;
    endpoint_.exclusive([&] { served.swap(served_); });
    const Time now = endpoint_.now();
    if (!served.empty()) meter_.blocked(served, now, now);
  }

  static at::Tensor request(Endpoint& endpoint, bool leaves) {
    return at::tensor(
        std::vector<double>{static_cast<double>(endpoint.self().value), leaves ? 1.0 : 0.0},
        at::kDouble);
  }

  // Of an active worker.
  Exchange ask_for_average(Endpoint& endpoint, WorkerId peer) {
    try {
      Pending asked = endpoint.send(peer, kRequestTag, request(endpoint, false));
      const Exchange exchange = average_with(endpoint, peer);
      asked.wait(deadline_);
      return exchange;
    } catch (const PeerLost&) {
      others_.erase(peer);  // The worker does not look at them while this is under way.
      const Time now = endpoint.now();
      return {.begin = now, .first_bytes = now, .end = now};
    }
  }

  void say_farewell(WorkerId peer) {
    try {
      endpoint_.send(peer, kRequestTag, request(endpoint_, true)).wait(deadline_);
    } catch (const PeerLost&) {  // It needs no farewell.
    }
  }

  // Of a passive worker: until every active one has left or is lost.
  void serve(Endpoint& endpoint) {
    std::set<WorkerId> asking = others_;
    at::Tensor asked = at::zeros({2}, at::kDouble);
    while (!asking.empty()) try {
        Pending request = endpoint.receive_any(kRequestTag, asked);
        wait_patiently(request);
        const double* const numbers = asked.const_data_ptr<double>();
        const WorkerId peer{static_cast<int>(numbers[0])};
        if (numbers[1] != 0) {
          asking.erase(peer);
          continue;
        }
        const Exchange exchange = average_with(endpoint, peer);
        endpoint.exclusive([&] { served_.push_back(exchange); });
      } catch (const PeerLost& lost) {
        asking.erase(lost.peer());
      }
  }

  // Both sides do the same: exchange copies, then move by half of their difference.
  Exchange average_with(Endpoint& endpoint, WorkerId peer) {
    Exchange exchange{.begin = endpoint.now()};
    endpoint.exclusive([&] { sent_.copy_(shared_); });
    Pending receiving = endpoint.receive(peer, kModelTag, received_);
    Pending sending = endpoint.send(peer, kModelTag, sent_);
    Pending* const arriving = &receiving;
    wait_any(std::span(&arriving, 1), deadline_);
    exchange.first_bytes = receiving.first_bytes();
    receiving.wait(deadline_);
    sending.wait(deadline_);
    endpoint.exclusive([&] { shared_.add_(received_.sub_(sent_), 0.5); });
    exchange.end = endpoint.now();
    exchange.bytes_sent = static_cast<std::int64_t>(sent_.nbytes());
    exchange.messages_sent = 1;
    return exchange;
  }

  Endpoint& endpoint_;
  Replica& replica_;
  Meter& meter_;
  const Deadline deadline_;
  const double clip_norm_;
  const Random::Seed seed_;
  const bool is_active_;
  std::set<WorkerId> others_;  // Of the other role; of an active worker, those not lost.
  Group group_;
  at::Tensor shared_;             // The communication copy; used in exclusive bodies.
  std::vector<Exchange> served_;  // Likewise.
  at::Tensor sent_;               // These two are the exchange's that is under way.
  at::Tensor received_;
  StepBudget budget_;
  AveragesInFlight in_flight_;  // Last: what is under way ends before what it uses.
  Pending service_;
};

}  // namespace

SpecInfo ad_psgd_info() {
  return {.name = "ad_psgd",
          .summary = "AD-PSGD: averages with one random peer at a time while it computes",
          .keys = {{.name = "seed", .fallback = "0", .help = "of the draw of peers"}}};
}

void check_ad_psgd(const Options&, const StrategySetting& setting) {
  if (setting.cluster.workers < 2)
    throw UsageError("ad_psgd averages with a peer and needs at least 2 workers.");
}

std::unique_ptr<Strategy> make_ad_psgd(const Options& options, const StrategyContext& context) {
  return std::make_unique<AdPsgd>(options, context);
}

}  // namespace huddle
