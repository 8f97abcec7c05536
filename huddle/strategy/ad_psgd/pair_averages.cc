#include "huddle/strategy/ad_psgd/pair_averages.h"

#include <ATen/ops/empty_like.h>

#include <span>

#include "huddle/base/error.h"
#include "huddle/strategy/lanes.h"

namespace huddle {
namespace {

constexpr Tag kModelTag{Kind::payload, Purpose::message, kPairLane, {}};

bool is_even(WorkerId worker) { return worker.value % 2 == 0; }

}  // namespace

PairAverages::PairAverages(const StrategyContext& context, WireFormat wire)
    : endpoint_(context.endpoint),
      meter_(context.meter),
      replica_(context.replica),
      deadline_(context.averaging.deadline),
      wire_type_(wire_type(wire == WireFormat::int8 ? WireFormat::full : wire,
                           context.replica.parameters().scalar_type())),
      is_active_(is_even(context.endpoint.self())),
      in_flight_(context.endpoint, context.meter, context.averaging.deadline),
      service_(context.endpoint,
               {.home = context.endpoint.self(),
                .lane = kPairLane,
                .deadline = context.averaging.deadline,
                .without = [](WorkerId) { return "its averages are lost with it"; }}) {
  for (const WorkerId worker : Group::everyone(endpoint_.workers()))
    if (is_even(worker) != is_active_) others_.insert(worker);
  if (wire == WireFormat::int8) near_.emplace(deadline_, kPairLane);
}

void PairAverages::start() {
  copy_ = replica_.parameters().clone();
  sent_ = at::empty_like(copy_, wire_type_);
  received_ = at::empty_like(copy_, wire_type_);
  if (!is_active_) service_.start([this](Endpoint& beside) { serve(beside); });
}

void PairAverages::begin(WorkerId peer) {
  in_flight_.start(kPairLane,
                   [this, peer](Endpoint& beside) { return ask_for_average(beside, peer); });
}

void PairAverages::settle() {
  service_.rethrow();  // If it failed, nobody averages with this worker any more.
  in_flight_.settle(endpoint_.now());
  std::vector<Exchange> answered;
  endpoint_.exclusive([&] { answered.swap(answered_); });
  const Time now = endpoint_.now();
  if (!answered.empty()) meter_.blocked(answered, now, now);
}

void PairAverages::with_copy(const std::function<void(const at::Tensor&)>& body) {
  endpoint_.exclusive([&] { body(copy_); });
}

void PairAverages::leave() {
  if (is_active_)
    for (const WorkerId peer : others_) try {
        send_request(endpoint_, peer, kPairLane, Request{.leaves = true}).wait(deadline_);
      } catch (const PeerLost&) {  // It need not know.
      }
  service_.join();
}

// Of an active worker.
Exchange PairAverages::ask_for_average(Endpoint& endpoint, WorkerId peer) {
  try {
    Pending asked = send_request(endpoint, peer, kPairLane, Request{});
    const Exchange exchange = average_with(endpoint, peer);
    asked.wait(deadline_);
    return exchange;
  } catch (const PeerLost&) {
    others_.erase(peer);  // The worker does not look at them while this is under way.
    const Time now = endpoint.now();
    return {.begin = now, .first_bytes = now, .end = now};
  }
}

// Of a passive worker: until every active one has left or is lost.
void PairAverages::serve(Endpoint& endpoint) {
  Requests<Request> requests(endpoint, kPairLane);
  std::set<WorkerId> asking = others_;
  while (!asking.empty()) try {
      const auto event = requests.next();
      if (event.request.leaves) {
        asking.erase(event.from);
        continue;
      }
      const Exchange exchange = average_with(endpoint, event.from);
      endpoint.exclusive([&] { answered_.push_back(exchange); });
    } catch (const PeerLost& lost) {
      asking.erase(lost.peer());
    }
}

// Both sides do the same: exchange copies, then move by half of their difference.
Exchange PairAverages::average_with(Endpoint& endpoint, WorkerId peer) {
  endpoint.exclusive([&] { sent_.copy_(copy_); });
  if (near_) {
    received_.copy_(sent_);
    const Exchange exchange =
        near_->average(endpoint, Group({endpoint.self(), peer}), received_, {0}, 0);
    received_.sub_(sent_);
    endpoint.exclusive([&] { copy_.add_(received_); });
    return exchange;
  }
  const Exchange exchange = swap_models(endpoint, peer);
  const at::Tensor difference = received_.to(copy_.scalar_type()).sub_(sent_);
  endpoint.exclusive([&] { copy_.add_(difference, 0.5); });
  return exchange;
}

Exchange PairAverages::swap_models(Endpoint& endpoint, WorkerId peer) {
  Exchange exchange{.begin = endpoint.now(),
                    .bytes_sent = static_cast<std::int64_t>(sent_.nbytes()),
                    .messages_sent = 1};
  Pending receiving = endpoint.receive(peer, kModelTag, received_);
  Pending sending = endpoint.send(peer, kModelTag, sent_);
  Pending* const arriving = &receiving;
  wait_any(std::span(&arriving, 1), deadline_);
  exchange.first_bytes = receiving.first_bytes();
  receiving.wait(deadline_);
  sending.wait(deadline_);
  exchange.end = endpoint.now();
  return exchange;
}

}  // namespace huddle
