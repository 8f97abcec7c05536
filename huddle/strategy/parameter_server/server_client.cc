#include "huddle/strategy/parameter_server/server_client.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "huddle/base/text.h"

namespace huddle {

ServerClient::ServerClient(ServerOptions server, const StrategyContext& context)
    : endpoint_(context.endpoint),
      replica_(context.replica),
      meter_(context.meter),
      options_(std::move(server)),
      counting_(context.home),
      everyone_(Group::everyone(context.endpoint.workers())),
      service_(context.endpoint, {.home = context.endpoint.self(),
                                  .lane = kServerLane,
                                  .deadline = context.averaging.deadline,
                                  .without = [this](WorkerId home) { return share_of(home); },
                                  .watched = everyone_}) {
  options_.counts = endpoint_.self() == counting_;
  options_.budget = context.steps * context.endpoint.workers();
  options_.deadline = context.averaging.deadline;
}

void ServerClient::start() {
  server_ =
      std::make_unique<ParameterServer>(replica_, resumed_ ? std::move(*resumed_) : initial_state(),
                                        options_, endpoint_.self(), endpoint_.workers());
  service_.start([this](Endpoint& beside) { server_->serve(beside); });
}

void ServerClient::push(const Bucket& bucket) {
  if (bucket.index == 0) {
    exchange_ = {.begin = endpoint_.now()};
    tell_servers({.learning_rate = replica_.learning_rate()});
  }
  // The gradient is scaled, not the rate: momentum on a server is of all workers' gradients, and
  // the rate of one update would scale what others have brought.
  if (replica_.rate_factor() != 1)
    part(replica_.gradients(), bucket.range).mul_(replica_.rate_factor());
  for (const WorkerId home : everyone_) {
    const at::Tensor slice =
        part(replica_.gradients(), slice_of(bucket, home, endpoint_.workers()));
    if (slice.numel() == 0) continue;
    pushed_.push_back(endpoint_.send(home, gradient_tag(bucket), slice));
    if (home == endpoint_.self()) continue;  // What stays on the worker is no traffic.
    exchange_.bytes_sent += static_cast<std::int64_t>(slice.nbytes());
    ++exchange_.messages_sent;
  }
}

ServerReply ServerClient::pull(Time from) {
  const at::Tensor reply = room_for(size_of<ServerReply>());
  Pending replied = endpoint_.receive(counting_, kReplyTag, reply);
  receive_parameters();
  service_.wait(replied);
  settle(from);
  return from_tensor<ServerReply>(reply);
}

void ServerClient::leave() {
  exchange_.begin = endpoint_.now();
  tell_servers({.is_last = true});
  receive_parameters();
  service_.join();
  settle(exchange_.begin);
}

ServerState ServerClient::state() const {
  return server_ ? server_->state(endpoint_) : resumed_ ? *resumed_ : initial_state();
}

// What a warm-up has made of the optimizer's state goes on here.
ServerState ServerClient::initial_state() const {
  const auto shard = [&](const at::Tensor& flat) {
    return shard_of(flat, replica_, endpoint_.self(), endpoint_.workers());
  };
  ServerState state{.parameters = shard(replica_.parameters()),
                    .slots = {},
                    .updates_before = replica_.updates()};
  for (const Slot& slot : replica_.slots()) state.slots.push_back(shard(slot.values));
  return state;
}

void ServerClient::tell_servers(const Push& push) {
  for (const WorkerId home : everyone_)
    pushed_.push_back(endpoint_.send(home, kPushTag, to_tensor(push)));
}

// Waits until all parameters are the servers', and what was pushed is with them.
void ServerClient::receive_parameters() {
  std::vector<Pending> arriving;
  for (const Bucket& bucket : replica_.buckets())
    for (const WorkerId home : everyone_) {
      const Range slice = slice_of(bucket, home, endpoint_.workers());
      if (slice.size() > 0)
        arriving.push_back(
            endpoint_.receive(home, parameters_tag(bucket), part(replica_.parameters(), slice)));
    }
  exchange_.first_bytes = std::numeric_limits<Time>::max();
  for (Pending& each : arriving) {
    service_.await(each);
    if (each.from() != endpoint_.self() || everyone_.size() == 1)
      exchange_.first_bytes = std::min(exchange_.first_bytes, each.first_bytes());
    service_.wait(each);
  }
  for (Pending& sent : pushed_) service_.wait(sent);
  pushed_.clear();
  exchange_.end = endpoint_.now();
}

// The worker has been blocked since `from`. It counts what its server has sent as well.
void ServerClient::settle(Time from) {
  const ParameterServer::Sent sent = server_->sent(endpoint_);
  exchange_.bytes_sent += sent.bytes - counted_.bytes;
  exchange_.messages_sent += sent.messages - counted_.messages;
  counted_ = sent;
  meter_.blocked({&exchange_, 1}, from, endpoint_.now());
  exchange_ = {};
}

std::string ServerClient::share_of(WorkerId home) const {
  std::int64_t held = 0;
  for (const Bucket& bucket : replica_.buckets())
    held += slice_of(bucket, home, endpoint_.workers()).size();
  return concat("the server beside worker ", home.value, " held ", held, " of the ",
                replica_.parameters().numel(), " parameters, which are lost with it: start again");
}

}  // namespace huddle
