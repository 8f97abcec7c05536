#include "huddle/transport/local/hub.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "huddle/base/text.h"

namespace huddle {

Hub::Hub(const Cluster& cluster, Scheduler& scheduler, Outside* outside)
    : cluster_(cluster),
      scheduler_(scheduler),
      outside_(outside),
      workers_(static_cast<std::size_t>(cluster.workers)),
      channels_(cluster.workers),
      reports_(cluster.workers) {}

// Asked on entry to every operation and after every rest: nobody is interrupted from outside, so a
// worker that must end does so where it next looks. A stop takes precedence, because the losses
// that follow from it are no news.
void Hub::require_running(const Party& party) const {
  if (!stopped_.empty()) throw Interrupted(stopped_);
  const WorkerState& state = worker_state(party.worker);
  if (state.life == Life::lost) throw Killed(state.reason);
  if (party.must_end)
    throw TransportError(
        concat("worker ", party.worker.value, ": a program beside it was told to end"));
}

void Hub::begin_step(const Party& party, Step step) {
  const std::lock_guard lock(scheduler_);
  require_running(party);
  const WorkerId worker = party.worker;
  WorkerState& state = worker_state(worker);
  if (state.step != step) state.operations_in_step = 0;
  state.step = step;
  for (const Death& death : cluster_.deaths) {
    if (death.time) continue;
    // A step with fewer operations than a death inside it waits for is survived, but no further
    // one.
    const bool is_due = death.after_operations == 0 ? death.step == step : death.step < step;
    if (death.worker == worker && is_due)
      throw Killed(concat("worker ", worker.value, " died at step ", step.value, " (injected)"));
  }
}

void Hub::count_operation(WorkerId worker) {
  WorkerState& state = worker_state(worker);
  ++state.operations_in_step;
  for (const Death& death : cluster_.deaths)
    if (!death.time && death.worker == worker && death.step == state.step &&
        death.after_operations > 0 && state.operations_in_step > death.after_operations)
      throw Killed(concat("worker ", worker.value, " died inside an exchange of step ",
                          state.step.value, " (injected)"));
}

void Hub::sleep(const Party& party, Seconds seconds) {
  std::unique_lock lock(scheduler_);
  const Time until = now() + cluster_.with_halts(party.worker, now(), seconds);
  // A run that has failed ends as soon as its workers notice: nobody sleeps on.
  while (require_running(party), now() < until && !has_failed_) rest(party.worker, until);
}

// Not a mutex: who waits for it must still notice a stop or its own death, and in simulation a
// thread that blocks would block all actors.
void Hub::exclusive(const Party& party, const std::function<void()>& body) {
  const Deadline deadline;
  {
    const std::lock_guard lock(scheduler_);
    const Party*& holder = worker_state(party.worker).exclusive_holder;
    check(holder != &party, "an exclusive body begins another one");
    const Time give_up = now() + deadline.after;
    while (holder != nullptr) {
      require_running(party);
      if (now() >= give_up)
        throw Timeout(
            late(party.worker, "waiting for another exclusive body of its own to end", deadline));
      rest(party.worker, give_up);
    }
    holder = &party;
  }
  const auto release = [&] {
    const std::lock_guard lock(scheduler_);
    worker_state(party.worker).exclusive_holder = nullptr;
    wake(party.worker);
  };
  try {
    body();
  } catch (...) {
    release();
    throw;
  }
  release();
}

std::string Hub::loss_of(WorkerId worker) {
  const std::lock_guard lock(scheduler_);
  return worker_state(worker).reason;
}

Step Hub::step_of(WorkerId worker) {
  const std::lock_guard lock(scheduler_);
  return worker_state(worker).step;
}

std::string Hub::step_text(WorkerId worker) const {
  const Step step = worker_state(worker).step;
  return step.value < 0 ? std::string("before the first step") : concat("step ", step.value);
}

std::exception_ptr Hub::lost_error(WorkerId who, WorkerId lost, const std::string& doing) const {
  const WorkerState& state = worker_state(lost);
  const std::string cause = state.life == Life::finished
                                ? concat("worker ", lost.value, " has finished its work")
                                : state.reason;
  return std::make_exception_ptr(
      PeerLost(lost, concat("worker ", who.value, ", ", step_text(who), ": lost worker ",
                            lost.value, " while ", doing, "; first cause: ", cause)));
}

void Hub::finish_operation(HubOperation& operation, std::exception_ptr error) {
  operation.ended_ = true;
  operation.error_ = std::move(error);
  wake(operation.owner_);
}

void Hub::fail(Transfer& transfer, WorkerId lost, Time known_at) {
  transfer.visible_at_ = known_at;
  finish_operation(transfer, lost_error(transfer.owner_, lost, transfer.describe()));
}

// Whether nobody can be at the other end any more. Who receives from anybody learns here of an end
// that it has not been told of, of several the one it may know first.
bool Hub::fails_at_once(Transfer& transfer) {
  if (transfer.peer_ != kAnybody) {
    const bool hopeless = worker_state(transfer.peer_).life != Life::running;
    if (hopeless) fail(transfer, transfer.peer_);
    return hopeless;
  }
  const std::optional<Reports::End> end =
      reports_.take_first(Channels::key_of(transfer), transfer.owner_);
  if (end) fail(transfer, end->worker, end->known_at);
  return end.has_value();
}

// Whoever waits in this channel to receive from anybody learns of an end, unless messages of that
// worker are still on their way there: the last of them will tell.
void Hub::tell_of_end(Channels::Key channel, WorkerId ended) {
  const std::shared_ptr<Transfer> receive = channels_.first_receive(channel);
  if (!receive) return;
  const std::optional<Time> known_at = reports_.take(channel, receive->owner_, ended);
  if (!known_at) return;
  channels_.remove(*receive);
  fail(*receive, ended, *known_at);
}

// The later of two matching transfers finds the earlier one waiting and carries out both, so a
// message needs no thread of its own and no copy between sender and receiver.
void Hub::post(const std::shared_ptr<Transfer>& transfer) {
  check(transfer->tensor_.is_contiguous(), "a message is not contiguous");
  check(transfer->tensor_.is_cpu() || (transfer->tensor_.is_meta() && scheduler_.carries_meta()),
        "this engine carries tensors of the CPU");
  const bool to_anybody =
      transfer->peer_ == kAnybody && transfer->direction_ == Transfer::Direction::receive;
  check(to_anybody || (transfer->peer_.value >= 0 && transfer->peer_.value < cluster_.workers),
        "no such worker");
  std::unique_lock lock(scheduler_);
  require_running(transfer->party_);
  count_operation(transfer->owner_);
  transfer->posted_ = now();
  if (goes_outside(*transfer)) {
    if (fails_at_once(*transfer)) return;
    outside_->send(transfer);
    wake(transfer->owner_);  // Whoever sleeps on what carries it has something to see to.
    return;
  }
  const std::shared_ptr<Transfer> other = channels_.take_match(*transfer);
  if (!other) {
    if (!fails_at_once(*transfer)) channels_.add(transfer);
    return;
  }
  const bool sends = transfer->direction_ == Transfer::Direction::send;
  const std::shared_ptr<Transfer>& send = sends ? transfer : other;
  if (is_any_source(send->tag_.purpose))
    send->journey_ = reports_.begin(Channels::key_of(*send), send->owner_, now());
  deliver(lock, send, sends ? other : transfer);
}

// Whether a message is what its receiver waits for. Both ends fail alike: which of them is wrong
// cannot be told here.
bool Hub::fits(Transfer& send, Transfer& receive) {
  const at::Tensor& into = receive.tensor_;
  const std::size_t bytes = send.cargo_ ? send.cargo_->bytes() : send.tensor_.nbytes();
  const int type = send.cargo_ ? send.cargo_->type() : static_cast<int>(send.tensor_.scalar_type());
  if (bytes == into.nbytes() && type == static_cast<int>(into.scalar_type())) return true;
  const auto error = std::make_exception_ptr(LogicError(concat(
      "worker ", send.owner_.value, " sent ", bytes, " bytes as ", name_of(send.tag_.purpose),
      ", worker ", receive.owner_.value, " expected ", into.nbytes(), " of its own type")));
  finish_operation(send, error);
  finish_operation(receive, error);
  end_journey(send, now());
  return false;
}

void Hub::deliver(std::unique_lock<Scheduler>& lock, const std::shared_ptr<Transfer>& send,
                  const std::shared_ptr<Transfer>& receive) {
  receive->peer_ = send->owner_;
  if (!fits(*send, *receive)) return;
  if (send->cargo_) return deliver_cargo(send, receive);
  const at::Tensor& data = send->tensor_;
  const at::Tensor& into = receive->tensor_;
  if (data.is_cpu() && into.is_cpu() && data.nbytes() > 0) {
    // The copy is long, and the lock is everybody's. Neither transfer can be found in a channel any
    // more, and is_copied_ makes an owner that gives up wait until its tensor is let go.
    send->is_copied_ = receive->is_copied_ = true;
    lock.unlock();
    std::memcpy(into.mutable_data_ptr(), data.const_data_ptr(), data.nbytes());
    lock.lock();
    send->is_copied_ = receive->is_copied_ = false;
  }
  // The bytes are there already; what is left is the time that they take. An engine that knows it
  // says so at once, one that simulates it calls back.
  const auto arrival = scheduler_.carry(
      {send->owner_, receive->owner_, static_cast<double>(data.nbytes()), send->tag_.kind,
       send->tag_.lane, send->posted_},
      [this, send, receive](const Scheduler::Arrival& journey) { land(*send, *receive, journey); });
  if (arrival) land(*send, *receive, *arrival);
}

void Hub::land(Transfer& one, Time at) {
  one.first_bytes_ = one.visible_at_ = at;
  finish_operation(one, nullptr);
}

void Hub::land(Transfer& send, Transfer& receive, const Scheduler::Arrival& arrival) {
  const auto error_of = [&](const Transfer& end, WorkerId peer) {
    return arrival.broken
               ? std::make_exception_ptr(
                     PeerLost(peer, concat("worker ", end.owner_.value, ", ", step_text(end.owner_),
                                           ": lost worker ", peer.value, " while ", end.describe(),
                                           "; first cause: a link between them was cut")))
               : std::exception_ptr();
  };
  // Both have ended, but are not seen to before the message's last byte would have come.
  for (Transfer* end : {&send, &receive}) {
    end->first_bytes_ = arrival.first_bytes;
    end->visible_at_ = arrival.end;
  }
  finish_operation(send, error_of(send, receive.owner_));
  finish_operation(receive, error_of(receive, send.owner_));
  end_journey(send, arrival.end);
}

// The end of the journey is known: who receives from anybody may learn that the sender has ended.
void Hub::end_journey(const Transfer& send, Time end) {
  if (!send.journey_) return;
  send.journey_->end = end;
  if (worker_state(send.owner_).life != Life::running)
    tell_of_end(send.journey_->channel, send.owner_);
}

void Hub::begin_watch(const std::shared_ptr<Watch>& watch) {
  const std::lock_guard lock(scheduler_);
  require_running(watch->party_);
  check(
      watch->group_.size() == 0 || watch->group_[watch->group_.size() - 1].value < cluster_.workers,
      "no such worker");
  // A loss from before the watch counts: the watcher may not have heard of it.
  for (const WorkerId member : watch->group_) {
    if (worker_state(member).life != Life::lost) continue;
    finish_operation(*watch, lost_error(watch->owner_, member, watch->describe()));
    return;
  }
  watch->waits_ = true;
  watches_.add(watch);
}

void Hub::end(WorkerId worker, Ending ending, const std::string& reason,
              const std::exception_ptr& error) {
  const std::lock_guard lock(scheduler_);
  if (outside_ != nullptr && is_running(worker)) outside_->tell_end(worker, ending, reason, error);
  note_end(worker, ending, reason);
}

void Hub::note_end(WorkerId worker, Ending ending, const std::string& reason) {
  WorkerState& state = worker_state(worker);
  if (state.life == Life::lost) return;  // One of its programs died first.
  state.life = ending == Ending::finished ? Life::finished : Life::lost;
  state.reason = reason;
  reports_.note_end(worker);
  for (const std::shared_ptr<Transfer>& hopeless : channels_.take_all_for(worker))
    fail(*hopeless, worker);
  if (outside_ != nullptr)
    for (const std::shared_ptr<Transfer>& hopeless : outside_->take_sends_to(worker))
      fail(*hopeless, worker);
  // Keys, not the receives themselves: telling of an end takes receives out of the channels.
  std::vector<Channels::Key> services;
  for (const std::shared_ptr<Transfer>& receive : channels_.from_anybody())
    services.push_back(Channels::key_of(*receive));
  for (const Channels::Key service : services) tell_of_end(service, worker);
  if (state.life == Life::lost) tell_watches(worker);
  // Those who wait for it at a rendezvous look who is absent, and leave by themselves.
  for (const auto& [key, rendezvous] : rendezvous_)
    if (key.first.contains(worker))
      for (const WorkerId member : key.first) wake(member);
  wake(worker);
  // A run that has failed ends as soon as all who sleep know.
  const bool fails_run = ending == Ending::failed || ending == Ending::followed;
  if (fails_run && !std::exchange(has_failed_, true)) wake_all();
}

void Hub::tell_watches(WorkerId lost) {
  std::vector<std::shared_ptr<Watch>> concerned;
  for (const std::shared_ptr<Watch>& watch : watches_.all())
    if (watch->group_.contains(lost)) concerned.push_back(watch);
  for (const std::shared_ptr<Watch>& watch : concerned) {
    watches_.remove(*watch);
    watch->waits_ = false;
    finish_operation(*watch, lost_error(watch->owner_, lost, watch->describe()));
  }
}

void Hub::wake_all() {
  for (int each = 0; each < cluster_.workers; ++each) wake(WorkerId{each});
}

void Hub::inject_timed_deaths() {
  std::vector<Death> deaths;
  for (const Death& death : cluster_.deaths)
    if (death.time) deaths.push_back(death);
  std::sort(deaths.begin(), deaths.end(),
            [](const Death& a, const Death& b) { return *a.time < *b.time; });
  const WorkerId nobody{cluster_.workers};  // Rests and is woken like a worker, but is none.
  for (const Death& death : deaths) {
    {
      const std::lock_guard lock(scheduler_);
      while (!is_closed_ && now() < *death.time) rest(nobody, *death.time);
      if (is_closed_) return;
      if (worker_state(death.worker).life != Life::running) continue;
    }
    end(death.worker, Ending::died,
        concat("worker ", death.worker.value, " died after ", *death.time, " s (injected)"));
  }
}

void Hub::close() {
  const std::lock_guard lock(scheduler_);
  is_closed_ = true;
  wake(WorkerId{cluster_.workers});
}

void Hub::stop(const std::string& reason) {
  const std::lock_guard lock(scheduler_);
  if (outside_ != nullptr && stopped_.empty()) outside_->tell_stop(reason);
  note_stop(reason);
}

std::string Hub::stop_reason() {
  const std::lock_guard lock(scheduler_);
  return stopped_;
}

void Hub::note_stop(const std::string& reason) {
  if (stopped_.empty()) stopped_ = reason;
  wake_all();
}

std::string Hub::late(WorkerId worker, const std::string& what, Deadline deadline) const {
  return concat("worker ", worker.value, ", ", step_text(worker), ": gave up after ",
                deadline.after, " s of ", what,
                "; nobody is known to have died, so raise the deadline (--deadline) if somebody is "
                "merely slow");
}

}  // namespace huddle
