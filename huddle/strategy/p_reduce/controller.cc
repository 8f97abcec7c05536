#include "huddle/strategy/p_reduce/controller.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "huddle/base/error.h"
#include "huddle/strategy/patience.h"

namespace huddle {
namespace {

// How many requests may be on their way at once. With a single receive, each would set out only
// when the one before it has arrived, and a large cluster would wait for the sum of all latencies.
constexpr int kReceives = 64;

// Requests in the order of their arrival, and who has ended.
class Inbox {
 public:
  explicit Inbox(Endpoint& endpoint) : endpoint_(endpoint) {
    for (int i = 0; i < std::min(endpoint.workers(), kReceives); ++i) post();
  }

  struct Event {
    WorkerId worker;
    std::optional<Request> request;  // Nothing: the worker has ended.
  };

  Event next() {
    Letter letter = take();
    post();
    try {
      wait_patiently(letter.receive);
    } catch (const PeerLost& lost) {
      return {lost.peer(), std::nullopt};
    }
    const Request request = to_request(letter.message);
    return {request.who.worker, request};
  }

 private:
  struct Letter {
    at::Tensor message;
    Pending receive;
  };

  void post() {
    const at::Tensor message = empty_request();
    letters_.push_back({message, endpoint_.receive_any(request_tag(), message)});
  }

  Letter take() {
    const std::size_t index = first_ready();
    Letter letter = std::move(letters_[index]);
    letters_.erase(letters_.begin() + static_cast<std::ptrdiff_t>(index));
    return letter;
  }

  std::size_t first_ready() {
    std::vector<Pending*> receives;
    for (Letter& letter : letters_) receives.push_back(&letter.receive);
    return wait_patiently(receives);
  }

  Endpoint& endpoint_;
  std::deque<Letter> letters_;  // In the order in which they were posted.
};

}  // namespace

Controller::Controller(const ControllerOptions& options)
    : options_(options),
      former_(options.former),
      log_(options.former.workers),
      clients_(static_cast<std::size_t>(options.former.workers)),
      present_(options.former.workers) {}

void Controller::serve(Endpoint& endpoint) {
  Inbox inbox(endpoint);
  while (present_ > 0) {
    const Inbox::Event event = inbox.next();
    // Nobody waits for an answer to arrive: a receiver that has died since is noticed as any other.
    for (const Answer& answer : event.request ? handle(*event.request) : lost(event.worker))
      endpoint.send(answer.to, answer_tag(answer.number),
                    to_message(answer.given, options_.former.group));
    log_.holding(former_.holding(), endpoint.now());
  }
}

std::vector<Answer> Controller::handle(const Request& request) {
  const WorkerId worker = request.who.worker;
  Client& asking = client(worker);
  if (!asking.is_present) return {{worker, request.number, {}}};
  asking.number = request.number;
  switch (request.kind) {
    case Request::Kind::ready:
      log_.stepped(worker);
      return answers(former_.ready(request.who, request.iteration));
    case Request::Kind::leave: dismiss(worker); return answers(former_.left(request.who));
    case Request::Kind::abort: break;
  }
  std::vector<Answer> given = lost(request.lost);
  const GroupFormer::Groups regrouped = former_.aborted(request.group, request.who);
  log_.withdraw(request.group, worker);
  log_.withdraw(request.group, request.lost);
  for (Answer& answer : answers(regrouped)) given.push_back(std::move(answer));
  return given;
}

std::vector<Answer> Controller::lost(WorkerId worker) {
  if (!client(worker).is_present) return {};  // It has left, or has been given up before.
  dismiss(worker);
  log_.lost(worker);
  return answers(former_.lost({worker, former_.incarnation(worker)}));
}

void Controller::dismiss(WorkerId worker) {
  client(worker).is_present = false;
  --present_;
}

std::vector<Answer> Controller::answers(const GroupFormer::Groups& groups) {
  std::vector<Answer> answers;
  for (const FormedGroup& group : groups) {
    log_.add(group);
    Assignment given = assign(group, options_.weights);
    given.progress = static_cast<double>(options_.steps_before + group.steps) /
                     static_cast<double>(options_.former.workers);
    for (const WorkerId member : given.group)
      answers.push_back({member, client(member).number, given});
  }
  return answers;
}

std::map<std::string, double> Controller::figures() const {
  return log_.figures("p_reduce.", former_.counters());
}

}  // namespace huddle
