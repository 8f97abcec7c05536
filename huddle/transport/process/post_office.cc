#include "huddle/transport/process/post_office.h"

#include <c10/core/ScalarTypeToTypeMeta.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "huddle/base/pack.h"
#include "huddle/base/text.h"
#include "huddle/transport/process/failure.h"
#include "huddle/transport/process/goodbye.h"

namespace huddle {
namespace {

// What is no message of a worker is kept here as a whole.
constexpr std::uint64_t kLongestWords = 256 << 20;

// How many turns a message may come early: wires mix what is under way, and one worker may be a run
// ahead of another, both of which is far less.
constexpr std::uint64_t kFarthestAhead = 1 << 16;

Tag unpack(std::uint32_t tag) {
  return {static_cast<Kind>(tag >> 29 & 1), static_cast<Purpose>(tag >> 24 & 31),
          Lane{static_cast<std::uint8_t>(tag >> 18 & (kLanes - 1))}, Sequence{tag % kSequences}};
}

// Whether there is such a tag, and such a tensor.
bool is_of_tensor(const Envelope& envelope) {
  if (pack(unpack(envelope.tag)) != envelope.tag ||
      unpack(envelope.tag).purpose > Purpose::request ||
      envelope.type >= static_cast<std::uint8_t>(at::ScalarType::Undefined))
    return false;
  const auto type = static_cast<at::ScalarType>(envelope.type);
  return envelope.bytes % c10::scalarTypeToTypeMeta(type).itemsize() == 0;
}

// Whether such words are for this reader.
bool is_words(const Envelope& envelope, WorkerId reader) {
  switch (envelope.kind) {
    case Envelope::Kind::message: return false;
    case Envelope::Kind::report: return reader == WorkerId{0};
    case Envelope::Kind::ending:
    case Envelope::Kind::loss:
    case Envelope::Kind::stop: return true;
  }
  return false;
}

// Throws LogicError where no worker can have said it. `sent`: how many messages it was sent.
void check_words(const Letter& letter, std::uint64_t sent) {
  if (letter.envelope.kind == Envelope::Kind::ending) read_goodbye(letter.text(), sent);
  if (letter.envelope.kind == Envelope::Kind::loss) unpacked<LossNote>(letter.text());
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

std::span<std::byte> room_in(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

}  // namespace

PostOffice::PostOffice(Wire& wire, Options options) : wire_(wire), options_(std::move(options)) {
  for (int worker = 0; worker < options_.workers; ++worker) {
    Peer& added = peers_.emplace_back(WorkerId{worker});
    added.key_to = seal_key(options_.token, options_.self, {worker});
    added.key_from = seal_key(options_.token, {worker}, options_.self);
  }
}

PostOffice::~PostOffice() = default;

void PostOffice::enter(Hub& hub) {
  hub_ = &hub;
  ends_.clear();
  for (Peer& each : peers_) {
    see_to(each);
    if (each.is_gone && hub.is_running(each.party.worker))
      gone(each.party.worker, "its process had ended before");
  }
}

void PostOffice::leave() {
  hub_ = nullptr;
  ++run_;
  unwanted_.clear();
  for (Peer& each : peers_) {
    each.sends.clear();
    each.unfetched.clear();
    each.has_left.clear();
    each.has_seen = 0;
  }
}

std::uint64_t PostOffice::post(WorkerId to, Envelope envelope, std::span<const std::byte> data,
                               Wire::Done done) {
  Peer& receiver = peer(to);
  envelope.sequence = receiver.sent++;
  envelope.bytes = data.size();
  envelope.from = options_.self.value;
  envelope.run = run_;
  envelope.seal = seal_of(receiver.key_to, envelope);
  wire_.send(to, std::as_bytes(std::span(&envelope, 1)), data, std::move(done));
  return envelope.sequence;
}

void PostOffice::post(WorkerId to, Envelope::Kind kind, const std::string& text) {
  const auto kept = std::make_shared<const std::string>(text);
  ++words_under_way_;
  post(to, {.kind = kind}, std::as_bytes(std::span(*kept)),
       [this, kept](const std::string&) { --words_under_way_; });
}

// The wire may still read the tensor when the send has been given up: both are kept for it. It may
// also be done before it says that it has begun.
void PostOffice::send(const std::shared_ptr<Transfer>& send) {
  Peer& receiver = peer(send->peer());
  const std::uint64_t number = receiver.sent;
  receiver.sends.emplace(number, send);
  post(send->peer(),
       {.tag = pack(send->tag()),
        .kind = Envelope::Kind::message,
        .type = static_cast<std::uint8_t>(send->tensor().scalar_type())},
       bytes_of(send->tensor()),
       [this, send, &receiver, number, run = run_](const std::string& trouble) {
         if (run != run_ || hub_ == nullptr || !receiver.sends.contains(number)) return;
         // Who is gone without a goodbye fails all that was sent to it; what somebody has fetched
         // before its goodbye went well, whatever becomes of the connection.
         if (!trouble.empty() && !ends_.contains(receiver.party.worker))
           return wire_.hang_up(receiver.party.worker,
                                concat("a message could not be sent (", trouble, ")"));
         receiver.sends.erase(number);
         hub_->sent(*send);
       });
}

// All but those whose data it had fetched when it ended: of these the wire will say that they have
// ended, too.
std::vector<std::shared_ptr<Transfer>> PostOffice::take_sends_to(WorkerId worker) {
  Peer& ended = peer(worker);
  std::vector<std::shared_ptr<Transfer>> hopeless;
  std::erase_if(ended.sends, [&](const auto& each) {
    const auto& [number, send] = each;
    if (number < ended.has_seen && !ended.has_left.contains(number)) return false;
    hopeless.push_back(send);
    return true;
  });
  return hopeless;
}

void PostOffice::fetch(const std::shared_ptr<Transfer>& send,
                       const std::shared_ptr<Transfer>& receive) {
  auto& letter = static_cast<Letter&>(send->cargo());
  const std::span<std::byte> into = room_in(receive->tensor());
  if (const std::optional<Wire::Handle> waiting = letter.take_waiting()) {
    const std::uint64_t number = letter.envelope.sequence;
    Peer& sender = peer({letter.envelope.from});
    wire_.fetch(sender.party.worker, *waiting, into,
                [this, send, receive, &sender, number, run = run_](const std::string& trouble) {
                  if (run != run_ || hub_ == nullptr) return;
                  if (trouble.empty()) sender.unfetched.erase(number);
                  hub_->fetched(*send, *receive, trouble);
                });
    return;
  }
  if (!into.empty()) std::memcpy(into.data(), letter.data().data(), into.size());
  hub_->fetched(*send, *receive, "");
}

void PostOffice::report(const std::string& report) {
  check(options_.self != WorkerId{0}, "the process of worker 0 reports to itself");
  post({0}, Envelope::Kind::report, report);
}

void PostOffice::note(WorkerEnd end) { ends_.try_emplace(end.worker, std::move(end)); }

void PostOffice::tell_end(WorkerId worker, WorkerEnding ending, const std::string& reason,
                          const std::exception_ptr& error) {
  note({worker, ending, reason, error, hub_->now()});
  const std::string failure = text_of(error);
  post_to_all(Envelope::Kind::ending, [&](const Peer& reader) {
    return packed(Goodbye{.ending = ending,
                          .reason = reason,
                          .failure = failure,
                          .at = hub_->now(),
                          .has_seen = reader.seen,
                          .has_left = reader.unfetched});
  });
}

void PostOffice::post_to_all(Envelope::Kind kind,
                             const std::function<std::string(const Peer&)>& text) {
  for (const Peer& each : peers_)
    if (each.party.worker != options_.self && !each.is_gone)
      post(each.party.worker, kind, text(each));
}

void PostOffice::tell_stop(const std::string& reason) {
  post_to_all(Envelope::Kind::stop, [&](const Peer&) { return reason; });
}

// What shows at once that a message is none of the job's, or of none of its workers; null: nothing.
const char* PostOffice::fault_of(const Wire::Arrival& arrival, const Envelope& envelope) {
  if (arrival.header.size() != sizeof envelope) return "has no header of Huddle's";
  if (envelope.from < 0 || envelope.from >= options_.workers ||
      envelope.from == options_.self.value)
    return "names a worker that cannot have sent it";
  const Peer& from = peer({envelope.from});
  if (seal_of(from.key_from, envelope) != envelope.seal)
    return "is not sealed with the token of this job";
  if (envelope.bytes != arrival.bytes || (!arrival.waiting && arrival.data.size() != arrival.bytes))
    return "is not as long as its header says";
  const bool is_message = envelope.kind == Envelope::Kind::message;
  if (!is_message && envelope.bytes > kLongestWords) return "says too much";
  if (is_message ? !is_of_tensor(envelope) : !is_words(envelope, options_.self))
    return "is of no kind that there is";
  if (envelope.run > run_ + 1) return "is of no run that there is";
  if (envelope.sequence < from.seen) return "has come before";
  if (envelope.sequence - from.seen > kFarthestAhead) return "comes too long before its turn";
  return nullptr;
}

// Told once, twice, four times of each who is claimed to have sent: who sends much neither fills
// the log nor hides others.
void PostOffice::refuse(const Envelope& envelope, const std::string& fault) {
  const bool is_somebody = envelope.from >= 0 && envelope.from < options_.workers;
  std::uint64_t& refused = is_somebody ? peer({envelope.from}).refused : refused_of_nobody_;
  if (!std::has_single_bit(++refused)) return;
  options_.warn(concat("worker ", options_.self.value, ": a message that claims to be of worker ",
                       envelope.from, " was thrown away, because it ", fault, " (", refused,
                       " so far)"));
}

void PostOffice::arrived(const Wire::Arrival& arrival) {
  Envelope envelope{.from = -1};
  std::memcpy(&envelope, arrival.header.data(), std::min(sizeof envelope, arrival.header.size()));
  if (const char* const fault = fault_of(arrival, envelope)) {
    if (arrival.waiting) wire_.let_go(*arrival.waiting);
    return refuse(envelope, fault);
  }
  Peer& from = peer({envelope.from});
  const Letter::Coming coming{++come_, hub_ != nullptr ? hub_->now() : 0};
  const auto letter = std::make_shared<Letter>(wire_, envelope, arrival, coming);
  from.early.add(letter);
  see_to(from);
  if (from.early.hold(letter) && from.early.bytes() > options_.most_early) {
    from.early.remove(letter);
    return refuse(envelope, "comes before its turn, as too much does");
  }
  if (letter.use_count() > 1) letter->keep();
}

// What has come of this peer, as far as its turn is. Words that wait at their sender are fetched
// first; what comes after them waits for that.
void PostOffice::see_to(Peer& from) {
  if (std::exchange(from.is_seen_to, true)) return;  // Whoever sees to it goes on.
  while (hub_ != nullptr && !from.early.empty() && !from.is_fetching) {
    const std::shared_ptr<Letter> letter = from.early.first();
    if (letter->envelope.sequence > from.seen) break;
    // The next run's, of a worker that has ended in this one.
    if (letter->envelope.run > run_ && ends_.contains(from.party.worker)) break;
    if (letter->is_words() && letter->waits()) {
      fetch_words(from, letter);
      continue;
    }
    from.early.remove(letter);
    if (letter->envelope.sequence < from.seen)
      refuse(letter->envelope, "has come before");
    else if (take_turn(from, letter))
      ++from.seen;
  }
  from.is_seen_to = false;
}

// What cannot be read has not come: its turn stays that of the true one. No exception may pass the
// library that has called.
bool PostOffice::take_turn(Peer& from, const std::shared_ptr<Letter>& letter) {
  try {
    check(letter->envelope.run <= run_, "its run has not begun");
    if (letter->envelope.run == run_)
      open(from, letter);
    else  // What is left of an earlier run.
      check_words(*letter, from.sent);
    return true;
  } catch (const std::exception& error) {
    refuse(letter->envelope, concat("could not be read: ", error.what()));
    return false;
  }
}

void PostOffice::fetch_words(Peer& from, const std::shared_ptr<Letter>& letter) {
  from.is_fetching = true;
  const Wire::Handle waiting = *letter->take_waiting();
  wire_.fetch(from.party.worker, waiting, letter->room(),
              [this, &from, letter](const std::string& trouble) {
                from.is_fetching = false;
                if (!trouble.empty())
                  from.early.remove(letter);  // If its sender is gone, that is told, too.
                see_to(from);
              });
}

void PostOffice::open(Peer& from, const std::shared_ptr<Letter>& letter) {
  switch (letter->envelope.kind) {
    case Envelope::Kind::message:
      if (letter->waits()) from.unfetched.insert(letter->envelope.sequence);
      // Its sender must not take it for received, before it has read this worker's goodbye.
      if (letter->waits() && !hub_->is_running(options_.self)) return unwanted_.push_back(letter);
      return hub_->arrive(std::make_shared<Transfer>(*hub_, from.party, options_.self,
                                                     unpack(letter->envelope.tag), letter));
    case Envelope::Kind::report:
      if (heard_) heard_(from.party.worker, letter->text());
      return;
    case Envelope::Kind::ending: return open_ending(from, letter->text());
    case Envelope::Kind::loss: return open_loss(from, letter->text());
    case Envelope::Kind::stop: return hub_->note_stop(std::string(letter->text()));
  }
}

void PostOffice::open_ending(Peer& from, std::string_view text) {
  const Goodbye goodbye = read_goodbye(text, from.sent);
  from.has_seen = goodbye.has_seen;
  from.has_left = goodbye.has_left;
  hub_->note_end(from.party.worker, goodbye.ending, goodbye.reason);
  note(
      {from.party.worker, goodbye.ending, goodbye.reason, failure_of(goodbye.failure), goodbye.at});
}

// Who is lost for one is lost for all: libraries do not tell everybody of every death.
void PostOffice::open_loss(const Peer& from, std::string_view text) {
  const auto loss = unpacked<LossNote>(text);
  check(loss.worker >= 0 && loss.worker < options_.workers, "it tells of no worker that there is");
  const WorkerId lost{loss.worker};
  if (lost == options_.self) {
    const std::string reason = concat("worker ", lost.value, " was taken for lost by worker ",
                                      from.party.worker.value, ": ", loss.why);
    return hub_->note_end(lost, WorkerEnding::died, reason);
  }
  if (ends_.contains(lost)) return;
  note_loss(lost, loss.why);
  wire_.hang_up(lost, loss.why);
}

// A process that has said goodbye may end; one that has not is lost.
void PostOffice::gone(WorkerId worker, const std::string& why) {
  const bool is_news = hub_ != nullptr && !ends_.contains(worker);
  note_loss(worker, why);
  if (is_news)
    post_to_all(Envelope::Kind::loss, [&](const Peer&) {
      return packed(LossNote{worker.value, why});
    });
}

void PostOffice::note_loss(WorkerId worker, const std::string& why) {
  peer(worker).is_gone = true;
  if (hub_ == nullptr || ends_.contains(worker)) return;
  const std::string reason = concat("worker ", worker.value, " is gone: ", why);
  hub_->note_end(worker, WorkerEnding::died, reason);
  note({worker, WorkerEnding::died, reason, nullptr, hub_->now()});
}

bool PostOffice::has_failed() const {
  return std::ranges::any_of(ends_, [](const auto& each) {
    return each.second.ending == WorkerEnding::failed ||
           each.second.ending == WorkerEnding::followed;
  });
}

void PostOffice::give_up_on_others(const std::string& why) {
  for (const Peer& each : peers_)
    if (!ends_.contains(each.party.worker)) note_loss(each.party.worker, why);
}

void PostOffice::close() {
  unwanted_.clear();
  for (Peer& each : peers_) {
    each.early.clear();
    each.sends.clear();
  }
}

std::vector<WorkerEnd> PostOffice::ends() const {
  std::vector<WorkerEnd> ends;
  for (const auto& [worker, end] : ends_) ends.push_back(end);
  std::ranges::stable_sort(ends, {}, &WorkerEnd::at);
  return ends;
}

}  // namespace huddle
