// What passes between the processes of a run: messages of workers, reports, and how each of them
// ends. Between a hub, which knows what belongs together, and a wire, which carries bytes.
//
// Whatever comes is looked at before anything of it is used: it must bear the job's seal, be of the
// size that its header tells, and mean something. What does not is counted, told, and thrown away.
// Messages of a sender are seen to in the order in which it sent them, in whatever order they come:
// what comes early is kept, within bounds.
//
// Everything is guarded by the hub's lock.

#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "huddle/transport/local/hub.h"
#include "huddle/transport/local/outside.h"
#include "huddle/transport/process/envelope.h"
#include "huddle/transport/process/letters.h"
#include "huddle/transport/process/wire.h"

namespace huddle {

// How one worker of a run ended.
struct WorkerEnd {
  WorkerId worker;
  WorkerEnding ending = WorkerEnding::finished;
  std::string reason;
  std::exception_ptr error;
  Time at = 0;
};

class PostOffice final : public Outside, public Wire::Listener {
 public:
  struct Options {
    WorkerId self;
    int workers = 1;
    std::string token;
    std::function<void(const std::string&)> warn = [](auto&) {};  // Must not throw.
    std::size_t most_early = 256 << 20;  // Bytes of each worker that may wait for their turn.
  };

  // The wire outlives it.
  PostOffice(Wire& wire, Options options);
  ~PostOffice() override;

  // From now on, until `leave`, this is the hub's. What has come for this run is delivered.
  void enter(Hub& hub);
  void leave();

  // Told of each report in the process of worker 0, in the order of its sender.
  using Heard = std::function<void(WorkerId from, std::string_view report)>;
  void on_report(Heard heard) { heard_ = std::move(heard); }
  void report(const std::string& report);

  // How workers have ended, in the order of time; and whether all have.
  std::vector<WorkerEnd> ends() const;
  bool have_all_ended() const { return ends_.size() == peers_.size(); }
  bool has_failed() const;  // Somebody has, so that the others are about to end, too.

  // Those who have not ended count as lost from now on.
  void give_up_on_others(const std::string& why);

  // Lets go of all that has come. The last call, before the wire is gone.
  void close();

  // Whether all reports and goodbyes have left.
  bool has_said_all() const { return words_under_way_ == 0; }

  // See Outside.
  bool holds(WorkerId worker) const override { return worker != options_.self; }
  void send(const std::shared_ptr<Transfer>& send) override;
  std::vector<std::shared_ptr<Transfer>> take_sends_to(WorkerId worker) override;
  void fetch(const std::shared_ptr<Transfer>& send,
             const std::shared_ptr<Transfer>& receive) override;
  void hang_up(WorkerId peer, const std::string& why) override { wire_.hang_up(peer, why); }
  void tell_end(WorkerId worker, WorkerEnding ending, const std::string& reason,
                const std::exception_ptr& error) override;
  void tell_stop(const std::string& reason) override;

  // See Wire::Listener.
  void arrived(const Wire::Arrival& arrival) override;
  void gone(WorkerId peer, const std::string& why) override;

 private:
  struct Peer {
    explicit Peer(WorkerId worker) : party{worker} {}

    Party party;
    SealKey key_to{};
    SealKey key_from{};
    std::uint64_t sent = 0;     // Messages so far,
    std::uint64_t seen = 0;     // and how many of its have been seen to.
    std::uint64_t refused = 0;  // In its name.
    EarlyLetters early;
    std::map<std::uint64_t, std::shared_ptr<Transfer>> sends;  // To it, that have not ended.
    std::set<std::uint64_t> unfetched;  // Of its messages, whose data still waits there.
    // What it said at its end: that it has seen to so many of ours, and fetched all but these.
    std::uint64_t has_seen = 0;
    std::set<std::uint64_t> has_left;
    bool is_fetching = false;  // Words, whose turn it is.
    bool is_seen_to = false;   // Right now.
    bool is_gone = false;      // Its process: nothing comes any more.
  };

  Peer& peer(WorkerId worker) { return peers_[static_cast<std::size_t>(worker.value)]; }
  const char* fault_of(const Wire::Arrival& arrival, const Envelope& envelope);
  void refuse(const Envelope& envelope, const std::string& fault);
  void see_to(Peer& from);
  bool take_turn(Peer& from, const std::shared_ptr<Letter>& letter);
  void fetch_words(Peer& from, const std::shared_ptr<Letter>& letter);
  void open(Peer& from, const std::shared_ptr<Letter>& letter);
  void open_ending(Peer& from, std::string_view text);
  void open_loss(const Peer& from, std::string_view text);
  void note_loss(WorkerId worker, const std::string& why);
  std::uint64_t post(WorkerId to, Envelope envelope, std::span<const std::byte> data,
                     Wire::Done done);
  void post(WorkerId to, Envelope::Kind kind, const std::string& text);
  void post_to_all(Envelope::Kind kind, const std::function<std::string(const Peer&)>& text);
  void note(WorkerEnd end);

  Wire& wire_;
  const Options options_;
  std::deque<Peer> peers_;
  Hub* hub_ = nullptr;
  std::uint32_t run_ = 0;
  Heard heard_;
  std::map<WorkerId, WorkerEnd> ends_;
  int words_under_way_ = 0;
  std::uint64_t come_ = 0;                         // Messages so far.
  std::uint64_t refused_of_nobody_ = 0;            // In the name of a worker that there is not.
  std::vector<std::shared_ptr<Letter>> unwanted_;  // Data that waits for a worker that has ended.
};

}  // namespace huddle
