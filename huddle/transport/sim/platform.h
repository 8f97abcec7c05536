// A cluster as SimGrid knows it: a host for each worker, a link for each link of the network, and
// what disturbs them.
//
// The network model `alpha_beta` is SimGrid's CM02 without the effects of TCP: bandwidth is shared
// fairly (max-min) among the messages on a link. Latency is added by us after the last byte,
// because SimGrid would give messages with a shorter way a larger share. The model `tcp` leaves all
// that to SimGrid.
//
// One simulation per process: SimGrid keeps its models and its clock for as long as the process
// lives.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

#include "huddle/cluster/network.h"
#include "huddle/record/record.h"
#include "huddle/transport/sim/link_watch.h"
#include "huddle/transport/tag.h"

namespace huddle {

// Used by the process's one simulation thread.
class Platform {
 public:
  // Tells `observer`, where there is one, what every link carries. Throws UsageError when the
  // process has simulated already.
  explicit Platform(const Cluster& cluster, const LinkLoadObserver& observer = {});

  int workers() const { return cluster_.workers; }
  simgrid::s4u::Host* host(WorkerId worker) const {
    return hosts_[static_cast<std::size_t>(worker.value)];
  }

  struct Way {
    WorkerId from;
    WorkerId to;
    Network::Route route;
    Seconds latency_after = 0;  // What SimGrid does not add by itself.
  };

  // One of the streams from one worker to another: a message of a stream begins when the one before
  // it has been sent, as on a connection.
  struct Stream {
    const Way* way = nullptr;
    Lane lane;
    auto operator<=>(const Stream&) const = default;
  };

  // How messages get from one worker to another. Stays valid.
  const Way& way(WorkerId from, WorkerId to);
  bool is_cut(const Way& way) const;

  enum class Ending { arrived, broken };
  using Ended = std::function<void(Ending, Time first_bytes)>;

  // Sends so many bytes and calls `ended` when the last has arrived, from outside all actors.
  // REQUIRES: the way has links.
  void send(const Stream& stream, double bytes, Ended ended);
  bool is_busy(const Stream& stream) const { return queues_.contains(stream); }

  // Has SimGrid make this call into SimGrid, at this moment of virtual time and after all actors
  // that still run in it: an actor that made it would be set aside for each call, let others run,
  // and find its memory cold when it goes on.
  void soon(std::function<void()> call);

  // Runs until all actors have ended.
  void run() { engine_->run(); }

  // What every link has carried so far.
  std::vector<LinkUse> link_uses() const;

 private:
  struct Use {
    double bytes = 0;
    Seconds busy = 0;
    Seconds full = 0;
    int messages = 0;  // Under way now.
    Time since = 0;
    std::vector<Background> elastic;  // Other traffic on it, which gives way.
  };
  struct Flight {
    Stream stream;
    double bytes = 0;
    Ended ended;
    Time begin = 0;
  };

  void start_engine();
  void make_links();
  void make_delays();
  void add_route(simgrid::s4u::Host* from, simgrid::s4u::Host* to, const std::vector<int>& links,
                 Seconds latency);
  void start_link_changes();
  void start_background(const Background& background, int link);
  void start(Flight flight);
  void end(Flight flight, Ending ending);
  void note(const Way& way, int change, double bytes);
  double left_of(int link) const;

  const Cluster cluster_;
  const Network network_;
  simgrid::s4u::Engine* engine_ = nullptr;  // Lives on: it tells later platforms of this one.
  simgrid::s4u::NetZone* zone_ = nullptr;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> links_;
  std::map<Seconds, simgrid::s4u::Link*> delays_;  // By latency; for the model tcp.
  std::unordered_map<std::uint64_t, Way> ways_;
  std::unordered_map<const void*, Flight> flights_;  // By SimGrid's name for the message.
  std::map<Stream, std::unique_ptr<std::deque<Flight>>> queues_;  // Behind the one under way.
  std::deque<std::function<void()>> to_do_;                       // Soon.
  std::vector<Use> uses_;                                         // By link.
  std::optional<LinkWatch> watch_;                                // Where somebody is told.
  int backgrounds_ = 0;
};

}  // namespace huddle
