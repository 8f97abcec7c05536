#include "huddle/transport/local/crew.h"

#include <algorithm>

#include "huddle/base/text.h"

namespace huddle {
namespace {

// How one body ended, and the reason that others should read.
struct BodyEnding {
  Hub::Ending ending = Hub::Ending::finished;
  std::string reason;
  std::exception_ptr error;
};

BodyEnding guarded(Hub& hub, WorkerId id, const std::function<void()>& body, Endings& endings) {
  try {
    body();
    if (const std::string reason = hub.loss_of(id); !reason.empty())
      throw Killed(reason);  // In a program nobody waited for.
    return {};
  } catch (const Killed& death) {
    endings.died({id, death.what()});
    return {Hub::Ending::died, death.what()};
  } catch (const PeerLost& lost) {
    endings.followed();
    const std::string cause = hub.loss_of(lost.peer());
    return {Hub::Ending::followed, cause.empty() ? std::string(lost.what()) : cause,
            std::current_exception()};
  } catch (const std::exception& error) {
    endings.failed();
    return {
        Hub::Ending::failed,
        concat("worker ", id.value, " failed at step ", hub.step_of(id).value, ": ", error.what()),
        std::current_exception()};
  } catch (...) {
    endings.failed();
    return {Hub::Ending::failed,
            concat("worker ", id.value, " failed at step ", hub.step_of(id).value,
                   " with an exception of unknown type"),
            std::current_exception()};
  }
}

}  // namespace

void Endings::died(const Loss& loss) {
  const std::lock_guard lock(mutex_);
  deaths_.push_back(loss);
}

void Endings::failed() {
  const std::lock_guard lock(mutex_);
  if (!first_cause_) first_cause_ = std::current_exception();
}

void Endings::followed() {
  const std::lock_guard lock(mutex_);
  if (!first_follower_) first_follower_ = std::current_exception();
}

std::vector<Loss> Endings::conclude() const {
  if (first_cause_) std::rethrow_exception(first_cause_);
  if (first_follower_) std::rethrow_exception(first_follower_);
  return deaths_;
}

void run_worker(Hub& hub, WorkerId id, HubWorker::Memory memory,
                const std::function<void(Endpoint&)>& body, Endings& endings) {
  BodyEnding end;
  {
    HubWorker worker(hub, id, memory);
    HubEndpoint endpoint(worker, worker.body);
    end = guarded(
        hub, id, [&] { body(endpoint); }, endings);
    // At once: the others must not wait for its programs to wind up.
    if (end.ending != Hub::Ending::finished) hub.end(id, end.ending, end.reason, end.error);
  }
  if (end.ending == Hub::Ending::finished) hub.end(id, end.ending, end.reason, end.error);
}

}  // namespace huddle
