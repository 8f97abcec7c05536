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
#include <forward_list>
#include <functional>
#include <map>
#include <optional>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

#include "huddle/base/fifo.h"
#include "huddle/cluster/network.h"
#include "huddle/record/record.h"
#include "huddle/transport/local/scheduler.h"
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

  // What is called when a message has arrived.
  using Arrived = std::function<void(const Scheduler::Arrival&)>;

  struct Flight {
    double bytes = 0;
    Arrived arrived;
    Time begin = 0;
  };

  // The messages of one lane from one worker to another: the first is under way, each of the others
  // begins when the one before it has been sent, as on a connection.
  struct Way;
  struct Stream {
    const Way& way;
    const Lane lane;
    Fifo<Flight> flights = {};
  };

  // How messages get from one worker to another. Stays valid, like its streams.
  struct Way {
    WorkerId from;
    WorkerId to;
    Network::Route route;
    Seconds latency_after = 0;  // What SimGrid does not add by itself.
    std::forward_list<Stream> streams = {};
  };
  Way& way(WorkerId from, WorkerId to);
  bool is_cut(const Way& way) const;
  Stream& stream(Way& way, Lane lane);

  // Sends so many bytes and calls `arrived` when the last has arrived, from outside all actors.
  // REQUIRES: the way has links.
  void send(Stream& stream, double bytes, Arrived arrived);

  // Has SimGrid make this call into SimGrid, at this moment of virtual time and after all actors
  // that still run in it: an actor that made it would be set aside for each call, let others run,
  // and find its memory cold when it goes on.
  void soon(std::function<void()> call);

  // Likewise, and after all calls into SimGrid that actors have made.
  void when_all_rest(std::function<void()> call);

  // Runs until all actors have ended.
  void run() { engine_->run(); }

  // What every link has carried so far.
  std::vector<LinkUse> link_uses() const;

 private:
  struct Use {
    double bandwidth = 0;   // Network::bandwidth at this moment
    Time steady_until = 0;  // and until then.
    double bytes = 0;
    Seconds busy = 0;
    Seconds full = 0;
    int messages = 0;  // Under way now.
    Time since = 0;
    std::vector<Background> elastic;  // Other traffic on it, which gives way.
  };
  void start_engine();
  void make_links();
  void make_delays();
  void add_route(simgrid::s4u::Host* from, simgrid::s4u::Host* to, const std::vector<int>& links,
                 Seconds latency);
  void start_link_changes();
  void start_background(const Background& background, int link);
  void start_first(Stream& stream);
  void depart(Stream& stream);
  enum class Ending { arrived, broken };
  void end(Stream& stream, Ending ending);
  void note(const Way& way, int change, double bytes);
  double left_of(int link);

  const Cluster cluster_;
  const Network network_;
  simgrid::s4u::Engine* engine_ = nullptr;  // Lives on: it tells later platforms of this one.
  simgrid::s4u::NetZone* zone_ = nullptr;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> links_;
  std::map<Seconds, simgrid::s4u::Link*> delays_;  // By latency; for the model tcp.
  std::unordered_map<std::uint64_t, Way> ways_;
  std::unordered_map<const void*, Stream*> under_way_;  // By SimGrid's name for the message.
  Fifo<std::function<void()>> to_do_;                   // When all rest.
  std::vector<Use> uses_;                               // By link.
  std::optional<LinkWatch> watch_;                      // Where somebody is told.
  int backgrounds_ = 0;
};

}  // namespace huddle
