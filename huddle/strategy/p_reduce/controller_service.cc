#include "huddle/strategy/p_reduce/controller_service.h"

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/lanes.h"

namespace huddle {

ControllerService::ControllerService(const ControllerOptions& options,
                                     const StrategyContext& context)
    : endpoint_(context.endpoint),
      options_(options),
      service_(context.endpoint,
               service_terms(context, kControllerLane,
                             "ran the controller, without which p_reduce cannot go on: start "
                             "again")),
      client_(context.endpoint, service_, kControllerLane,
              longest_assignment(options.former.group)) {}

void ControllerService::start(std::int64_t steps, std::int64_t done) {
  if (!service_.is_here()) return;
  const std::int64_t workers = endpoint_.workers();
  options_.steps_before = workers * done;
  options_.former.budget = std::max<std::int64_t>(1, workers * (steps - done));
  controller_ = std::make_unique<Controller>(options_);
  service_.start([controller = controller_.get()](Endpoint& beside) { controller->serve(beside); });
}

Assignment ControllerService::ask(Endpoint& beside, const Request& request) {
  client_.ask(beside, request);
  const Assignment given = client_.reply();
  if (given.group.size() == 0)
    throw TransportError(concat("worker ", endpoint_.self().value,
                                " was given up by the controller, because a peer lost touch with "
                                "it: look at the links between workers, then start again"));
  return given;
}

void ControllerService::leave() {
  client_.tell({.kind = Request::Kind::leave});
  service_.join();
}

std::map<std::string, double> ControllerService::figures() const {
  if (!controller_ || service_.is_running()) return {};
  return controller_->figures();
}

}  // namespace huddle
