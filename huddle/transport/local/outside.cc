// Messages between a worker of this process and those outside. See outside.h and hub.h.

#include "huddle/transport/local/outside.h"

#include <algorithm>

#include "huddle/base/text.h"
#include "huddle/transport/local/hub.h"

namespace huddle {

bool Hub::goes_outside(const Transfer& transfer) const {
  return outside_ != nullptr && transfer.direction_ == Transfer::Direction::send &&
         outside_->holds(transfer.peer_);
}

// is_copied_ makes an owner that gives up wait until its tensor is let go.
void Hub::deliver_cargo(const std::shared_ptr<Transfer>& send,
                        const std::shared_ptr<Transfer>& receive) {
  receive->is_copied_ = true;
  outside_->fetch(send, receive);
}

void Hub::arrive(const std::shared_ptr<Transfer>& send) {
  if (!is_running(send->peer_)) return;  // Nobody will ask for it.
  const std::shared_ptr<Transfer> receive = channels_.take_match(*send);
  if (!receive) return channels_.add(send);
  if (is_any_source(send->tag_.purpose))
    send->journey_ = reports_.begin(Channels::key_of(*send), send->owner_, now());
  receive->peer_ = send->owner_;
  if (fits(*send, *receive)) deliver_cargo(send, receive);
}

void Hub::fetched(Transfer& send, Transfer& receive, const std::string& trouble) {
  receive.is_copied_ = false;
  if (trouble.empty())
    return land(send, receive,
                {std::min(now(), std::max(send.cargo_->arrived_at(), receive.posted_)), now()});
  const auto error = std::make_exception_ptr(PeerLost(
      send.owner_,
      concat("worker ", receive.owner_.value, ", ", step_text(receive.owner_), ": lost worker ",
             send.owner_.value, " while ", receive.describe(), "; first cause: ", trouble)));
  finish_operation(receive, error);
  end_journey(send, now());
}

}  // namespace huddle
