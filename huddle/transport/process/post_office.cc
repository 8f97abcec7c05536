#include "huddle/transport/process/post_office.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "huddle/base/pack.h"
#include "huddle/base/text.h"
#include "huddle/transport/process/failure.h"

namespace huddle {
namespace {

// What is no message of a worker is kept here as a whole.
constexpr std::uint64_t kLongestWords = 256 << 20;

Tag unpack(std::uint32_t tag) {
  return {static_cast<Kind>(tag >> 29 & 1), static_cast<Purpose>(tag >> 24 & 31),
          Lane{static_cast<std::uint8_t>(tag >> 18 & (kLanes - 1))}, Sequence{tag % kSequences}};
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

std::span<std::byte> room_in(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

}  // namespace

// What a worker says at its end.
struct PostOffice::Goodbye {
  WorkerEnding ending = WorkerEnding::finished;
  std::string reason;
  std::string failure;
  Time at = 0;
  std::uint64_t has_seen = 0;        // So many messages of the reader's,
  std::set<std::uint64_t> has_left;  // and has fetched the data of all but these.

  static auto fields(auto& self) {
    return std::tie(self.ending, self.reason, self.failure, self.at, self.has_seen, self.has_left);
  }
};

// A message that has come: its data, kept here or waiting at its sender.
class PostOffice::Letter final : public Cargo {
 public:
  Letter(Wire& wire, const Envelope& front, const Wire::Arrival& arrival)
      : envelope(front), wire_(wire), data_(arrival.data), waiting_(arrival.waiting) {}
  ~Letter() override {
    if (waiting_) wire_.let_go(*waiting_);
  }

  std::size_t bytes() const override { return envelope.bytes; }
  int type() const override { return envelope.type; }
  Time arrived_at() const override { return at; }

  // The wire's own memory is about to be gone.
  void keep() {
    if (!kept_.empty()) return;
    kept_.assign(data_.begin(), data_.end());
    data_ = kept_;
  }

  // Where data that waits can be fetched to.
  std::span<std::byte> room() {
    kept_.resize(envelope.bytes);
    data_ = kept_;
    return kept_;
  }

  std::span<const std::byte> data() const { return data_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_.data()), data_.size()};
  }
  std::optional<Wire::Handle> take_waiting() { return std::exchange(waiting_, std::nullopt); }
  bool waits() const { return waiting_.has_value(); }

  const Envelope envelope;
  Time at = 0;

 private:
  Wire& wire_;
  std::span<const std::byte> data_;
  std::vector<std::byte> kept_;
  std::optional<Wire::Handle> waiting_;
};

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
           return wire_.hang_up(receiver.party.worker);
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
    wire_.fetch(*waiting, into,
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

// Whether a message is one of the job's: nothing of any other is used.
bool PostOffice::is_ours(const Wire::Arrival& arrival, const Envelope& envelope) {
  const char* fault = nullptr;
  if (arrival.header.size() != sizeof envelope)
    fault = "has no header of Huddle's";
  else if (envelope.from < 0 || envelope.from >= options_.workers ||
           envelope.from == options_.self.value)
    fault = "names a worker that cannot have sent it";
  else if (seal_of(peer({envelope.from}).key_from, envelope) != envelope.seal)
    fault = "is not sealed with the token of this job";
  else if (envelope.bytes != arrival.bytes ||
           (!arrival.waiting && arrival.data.size() != arrival.bytes))
    fault = "is not as long as its header says";
  else if (envelope.kind != Envelope::Kind::message && envelope.bytes > kLongestWords)
    fault = "says too much";
  else if (envelope.kind > Envelope::Kind::stop ||
           envelope.type >= static_cast<std::uint8_t>(at::ScalarType::NumOptions) ||
           (envelope.tag >> 24 & 31) > static_cast<std::uint32_t>(Purpose::request))
    fault = "is of no kind that there is";
  else if (envelope.sequence < peer({envelope.from}).seen ||
           peer({envelope.from}).early.contains(envelope.sequence))
    fault = "has come before";
  if (fault == nullptr) return true;
  if (arrival.waiting) wire_.let_go(*arrival.waiting);
  // Told once, twice, four times: who sends much does not fill the log, too.
  if (std::has_single_bit(static_cast<std::uint64_t>(++refused_)))
    options_.warn(concat("worker ", options_.self.value, ": a message that claims to be of worker ",
                         envelope.from, " was thrown away, because it ", fault, " (", refused_,
                         " so far)"));
  return false;
}

void PostOffice::arrived(const Wire::Arrival& arrival) {
  Envelope envelope{.from = -1};
  std::memcpy(&envelope, arrival.header.data(), std::min(sizeof envelope, arrival.header.size()));
  if (!is_ours(arrival, envelope)) return;
  Peer& from = peer({envelope.from});
  const auto letter = std::make_shared<Letter>(wire_, envelope, arrival);
  letter->at = hub_ != nullptr ? hub_->now() : 0;
  from.early.emplace(envelope.sequence, letter);
  see_to(from);
  if (letter.use_count() > 1) letter->keep();
}

// What has come of this peer, as far as its turn is. Words that wait at their sender are fetched
// first; what comes after them waits for that.
void PostOffice::see_to(Peer& from) {
  while (hub_ != nullptr && !from.early.empty() && !from.is_fetching) {
    const auto next = from.early.begin();
    const std::shared_ptr<Letter> letter = next->second;
    if (letter->envelope.sequence != from.seen || letter->envelope.run > run_) return;
    if (letter->envelope.kind != Envelope::Kind::message && letter->waits()) {
      fetch_words(from, letter);
      continue;
    }
    from.early.erase(next);
    ++from.seen;
    if (letter->envelope.run != run_) continue;
    try {  // No exception may pass the library that has called.
      open(from, letter);
    } catch (const std::exception& error) {
      options_.warn(concat("worker ", options_.self.value, ": a message of worker ",
                           from.party.worker.value, " could not be read: ", error.what()));
    }
  }
}

void PostOffice::fetch_words(Peer& from, const std::shared_ptr<Letter>& letter) {
  from.is_fetching = true;
  const Wire::Handle waiting = *letter->take_waiting();
  wire_.fetch(waiting, letter->room(), [this, &from, letter](const std::string& trouble) {
    from.is_fetching = false;
    if (trouble.empty()) see_to(from);  // Else its sender is gone, which will be told.
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
    case Envelope::Kind::stop: return hub_->note_stop(std::string(letter->text()));
  }
}

void PostOffice::open_ending(Peer& from, std::string_view text) {
  const auto goodbye = unpacked<Goodbye>(text);
  from.has_seen = goodbye.has_seen;
  from.has_left = goodbye.has_left;
  hub_->note_end(from.party.worker, goodbye.ending, goodbye.reason);
  note(
      {from.party.worker, goodbye.ending, goodbye.reason, failure_of(goodbye.failure), goodbye.at});
}

// A process that has said goodbye may end; one that has not is lost.
void PostOffice::gone(WorkerId worker, const std::string& why) {
  Peer& lost = peer(worker);
  lost.is_gone = true;
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
    if (!ends_.contains(each.party.worker)) gone(each.party.worker, why);
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
