// Members of a group combine their tensors in one another's memory. See GroupReduce and hub.h.

#include "huddle/transport/local/rendezvous.h"

#include <algorithm>
#include <mutex>

#include "huddle/base/text.h"
#include "huddle/transport/local/hub.h"

namespace huddle {

Time Hub::meet(const Party& party, const Group& group, Tag tag, at::Tensor mine, int blocks,
               const GroupReduce::Combine& combine, Deadline deadline) {
  const WorkerId worker = party.worker;
  std::unique_lock lock(scheduler_);
  require_running(party);
  count_operation(worker);
  std::shared_ptr<Rendezvous>& entry = rendezvous_[{group, pack(tag)}];
  if (!entry) {
    entry = std::make_shared<Rendezvous>();
    entry->tensors.resize(static_cast<std::size_t>(group.size()));
    entry->blocks = blocks;
  }
  const std::shared_ptr<Rendezvous> rendezvous = entry;
  for (const at::Tensor& other : rendezvous->tensors)
    check(!other.defined() || (rendezvous->blocks == blocks && other.numel() == mine.numel() &&
                               other.scalar_type() == mine.scalar_type()),
          "members of a group average tensors of different size or type");
  check(!rendezvous->tensors[static_cast<std::size_t>(group.position_of(worker))].defined(),
        "a worker averages twice under one tag");
  rendezvous->tensors[static_cast<std::size_t>(group.position_of(worker))] = std::move(mine);
  ++rendezvous->arrived;
  gather_members(party, group, tag, rendezvous, deadline);
  const bool injects_deaths = !cluster_.deaths.empty();

  lock.unlock();
  try {
    for (int block; (block = rendezvous->next_block.fetch_add(1)) < blocks;) {
      combine(block, rendezvous->tensors);
      rendezvous->blocks_done.fetch_add(1);
      if (injects_deaths) {  // Between two blocks, so that no block is left half done: the others
                             // take over the rest.
        const std::lock_guard counting(scheduler_);
        count_operation(worker);
      }
    }
  } catch (const Killed&) {
    lock.lock();
    for (const WorkerId member : group) wake(member);  // Its last block may have been the last.
    throw;
  } catch (...) {
    lock.lock();
    rendezvous->error = std::current_exception();
    for (const WorkerId member : group) wake(member);
    throw;
  }
  lock.lock();
  if (rendezvous->blocks_done.load() == blocks)
    for (const WorkerId member : group) wake(member);
  const Time give_up = now() + deadline.after;
  while (rendezvous->blocks_done.load() < blocks) {
    if (rendezvous->error) std::rethrow_exception(rendezvous->error);
    require_running(party);
    if (now() >= give_up) throw Timeout(late(worker, "averaging in shared memory", deadline));
    rest(worker, give_up);
  }
  return rendezvous->everybody_at;
}

// A member that is not there and cannot come any more, or kAnybody. One that died explains more
// than one that left because of it and has finished since.
WorkerId Hub::absent_for_good(const Group& group, const Rendezvous& rendezvous) const {
  WorkerId gone = kAnybody;
  for (const WorkerId member : group) {
    if (rendezvous.tensors[static_cast<std::size_t>(group.position_of(member))].defined()) continue;
    if (worker_state(member).life == Life::lost) return member;
    if (worker_state(member).life == Life::finished) gone = member;
  }
  return gone;
}

// "worker 3 (at step 7), worker 5 (at step 6)".
std::string Hub::absent(const Group& group, const Rendezvous& rendezvous) const {
  std::string missing;
  for (const WorkerId member : group)
    if (!rendezvous.tensors[static_cast<std::size_t>(group.position_of(member))].defined())
      missing += concat(missing.empty() ? "" : ", ", "worker ", member.value, " (at step ",
                        worker_state(member).step.value, ")");
  return missing;
}

// Waits until all members are there. If one of them cannot come any more, this one leaves again,
// with its tensor untouched.
void Hub::gather_members(const Party& party, const Group& group, Tag tag,
                         const std::shared_ptr<Rendezvous>& rendezvous, Deadline deadline) {
  const WorkerId worker = party.worker;
  const auto key = std::make_pair(group, pack(tag));
  if (rendezvous->arrived == group.size()) {
    rendezvous->everybody_at = now();
    rendezvous_.erase(key);  // The next rendezvous of this name is another one.
    for (const WorkerId member : group) wake(member);
    return;
  }
  const Time give_up = now() + deadline.after;
  try {
    while (rendezvous->arrived < group.size()) {
      require_running(party);
      const WorkerId gone = absent_for_good(group, *rendezvous);
      if (gone != kAnybody)
        std::rethrow_exception(
            lost_error(worker, gone, concat("waiting for ", name_of(tag.purpose), " with it")));
      if (now() >= give_up)
        throw Timeout(
            late(worker,
                 concat("waiting for ", name_of(tag.purpose), " with ", absent(group, *rendezvous)),
                 deadline));
      rest(worker, give_up);
    }
  } catch (...) {
    rendezvous->tensors[static_cast<std::size_t>(group.position_of(worker))].reset();
    if (--rendezvous->arrived == 0) rendezvous_.erase(key);
    throw;
  }
}

}  // namespace huddle
