// What passes between a service and those who ask it, typed (message.h).
//
//   worker (Client)                 the home's program (Requests)
//     ask    ── request ──────▶       next
//     reply  ◀────── reply ───        reply, now or after other requests
//     tell   ── request ──────▶       next; nobody waits for a reply

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "huddle/transport/message.h"
#include "huddle/transport/service.h"

namespace huddle {

// Requests of one kind to one service have a number each, which the reply bears.
inline Tag request_tag(Lane lane) { return {Kind::control, Purpose::request, lane, {}}; }
inline Tag reply_tag(Lane lane, std::int64_t number) {
  return {Kind::control, Purpose::message, lane, Sequence{static_cast<std::uint32_t>(number)}};
}

template <typename Request>
struct Numbered {
  std::int64_t number = 0;
  Request request;
  static auto fields(auto& self) { return std::tie(self.number, self.request); }
};

// To whoever answers in this lane beside `to`.
template <typename Request>
Pending send_request(Endpoint& endpoint, WorkerId to, Lane lane, const Request& request,
                     std::int64_t number = 0) {
  return endpoint.send(to, request_tag(lane), to_tensor(Numbered<Request>{number, request}));
}

// One worker's side, used by its own thread, or by one program beside it while the worker leaves
// it alone. At most one request waits for its reply at a time.
// Endpoint and service outlive it.
template <typename Request, typename Reply>
class Client {
 public:
  // `reply_size`: see message.h; the same for both ends.
  Client(Endpoint& endpoint, Service& service, Lane lane, std::size_t reply_size = size_of<Reply>())
      : endpoint_(endpoint), service_(service), lane_(lane), reply_size_(reply_size) {}

  void ask(const Request& request) { ask(endpoint_, request); }

  // The same by a program beside the worker, with its own endpoint; it gets the reply, too.
  void ask(Endpoint& beside, const Request& request) {
    reply_ = room_for(reply_size_);
    replied_ = beside.receive(service_.home(), reply_tag(lane_, requests_), reply_);
    send(beside, request);
  }

  // To the last `ask`. Waits for it. REQUIRES: an `ask` that has had no reply.
  Reply reply() {
    service_.wait(replied_);
    return from_tensor<Reply>(reply_);
  }

  // Waits until the request has left.
  void tell(const Request& request) {
    send(endpoint_, request);
    service_.wait(sent_);
  }

 private:
  void send(Endpoint& from, const Request& request) {
    sent_ = send_request(from, service_.home(), lane_, request, requests_++);
  }

  Endpoint& endpoint_;
  Service& service_;
  const Lane lane_;
  const std::size_t reply_size_;
  std::int64_t requests_ = 0;
  at::Tensor reply_;
  Pending replied_;
  Pending sent_;
};

// The program's side, used by it alone: requests in the order of their arrival. The endpoint is the
// program's own.
template <typename Request>
class Requests {
 public:
  Requests(Endpoint& endpoint, Lane lane) : endpoint_(endpoint), lane_(lane) {
    // With a single receive, each request would set out only when the one before it has arrived,
    // and a large cluster would wait for the sum of all latencies.
    constexpr int kAtOnce = 64;
    for (int i = 0; i < std::min(endpoint.workers(), kAtOnce); ++i) post();
  }

  struct Event {
    WorkerId from;
    std::int64_t number = 0;
    Request request;
  };

  // Waits for the next one, for as long as it takes. Throws PeerLost once for each worker that has
  // ended, after all that it had sent.
  Event next() {
    std::vector<Pending*> receives;
    for (Letter& letter : letters_) receives.push_back(&letter.receive);
    const auto first = letters_.begin() + static_cast<std::ptrdiff_t>(wait_patiently(receives));
    Letter letter = std::move(*first);
    letters_.erase(first);
    post();
    return open(std::move(letter));
  }

  // Replies to request `number` of `to`. Nobody waits for it to arrive: a receiver that has died
  // since is noticed as any other.
  template <typename Reply>
  void reply(WorkerId to, std::int64_t number, const Reply& reply,
             std::size_t size = size_of<Reply>()) {
    endpoint_.send(to, reply_tag(lane_, number), to_tensor(reply, size));
  }

 private:
  struct Letter {
    at::Tensor message;
    Pending receive;
  };

  void post() {
    const at::Tensor message = room_for(size_of<Numbered<Request>>());
    letters_.push_back({message, endpoint_.receive_any(request_tag(lane_), message)});
  }

  static Event open(Letter letter) {
    const WorkerId from = letter.receive.from();
    wait_patiently(letter.receive);
    const auto numbered = from_tensor<Numbered<Request>>(letter.message);
    return {from, numbered.number, numbered.request};
  }

  Endpoint& endpoint_;
  const Lane lane_;
  std::deque<Letter> letters_;  // In the order in which they were posted.
};

}  // namespace huddle
