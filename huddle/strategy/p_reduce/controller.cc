#include "huddle/strategy/p_reduce/controller.h"

#include <iterator>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/strategy/lanes.h"

namespace huddle {

Controller::Controller(const ControllerOptions& options)
    : options_(options),
      former_(options.former),
      log_(options.former.workers),
      known_(static_cast<std::size_t>(options.former.workers)),
      present_(options.former.workers) {
  if (options.balances) shares_.emplace(options.former.workers);
}

void Controller::serve(Endpoint& endpoint) {
  Requests<Request> requests(endpoint, kControllerLane);
  const std::size_t size = longest_assignment(options_.former.group);
  const auto next = [&] {
    try {
      return handle(requests.next());
    } catch (const PeerLost& gone) {
      return lost(gone.peer());
    }
  };
  while (present_ > 0) {
    for (const Reply& reply : next()) requests.reply(reply.to, reply.number, reply.given, size);
    log_.holding(former_.holding(), endpoint.now());
  }
}

std::vector<Reply> Controller::handle(const Requests<Request>::Event& event) {
  const auto& [worker, number, request] = event;
  Known& asking = known(worker);
  if (!asking.is_present) return {{worker, number, {}}};
  asking.number = number;
  const Incarnation who{worker, request.life};
  switch (request.kind) {
    case Request::Kind::ready:
      log_.stepped(worker);
      if (shares_) shares_->stepped(worker);
      return replies(former_.ready(who, request.iteration));
    case Request::Kind::leave: dismiss(worker); return replies(former_.left(who));
    case Request::Kind::abort: break;
  }
  std::vector<Reply> given = lost(request.lost);
  const GroupFormer::Groups regrouped = former_.aborted(request.group, who);
  log_.withdraw(request.group, worker);
  log_.withdraw(request.group, request.lost);
  for (Reply& reply : replies(regrouped)) given.push_back(std::move(reply));
  return given;
}

std::vector<Reply> Controller::lost(WorkerId worker) {
  if (!known(worker).is_present) return {};  // It has left, or has been given up before.
  dismiss(worker);
  log_.lost(worker);
  return replies(former_.lost({worker, former_.incarnation(worker)}));
}

void Controller::dismiss(WorkerId worker) {
  known(worker).is_present = false;
  --present_;
  if (shares_) shares_->left(worker);
}

std::vector<Reply> Controller::replies(const GroupFormer::Groups& groups) {
  std::vector<Reply> replies;
  for (const FormedGroup& group : groups) {
    log_.add(group);
    Assignment given = assign(group, options_.weights);
    given.progress = static_cast<double>(options_.steps_before + group.steps) /
                     static_cast<double>(options_.former.workers);
    for (const WorkerId member : given.group) {
      if (shares_) given.rate_factor = shares_->factor(member);
      replies.push_back({member, known(member).number, given});
    }
  }
  return replies;
}

std::map<std::string, double> Controller::figures() const {
  return log_.figures("p_reduce.", former_.counters());
}

}  // namespace huddle
