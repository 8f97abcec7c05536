#include "huddle/transport/sim/platform.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

namespace sg = simgrid::s4u;
namespace resource = simgrid::kernel::resource;

// What stands for an unlimited bandwidth: no simulated message ever feels it.
constexpr double kPlenty = 1e15;

// More bytes than any run can wait for.
constexpr std::uint64_t kEndless = std::uint64_t{1} << 60;

double finite(double bytes_per_second) { return std::min(bytes_per_second, kPlenty); }

std::vector<std::string> configuration(Cluster::NetworkModel model) {
  std::vector<std::string> words{"huddle", "--log=root.thresh:error", "--log=xbt_cfg.thresh:error",
                                 "--cfg=surf/precision:1e-9", "--cfg=debug/clean-atexit:no",
                                 // KiB. Not a power of two: the stacks of all actors would lie
                                 // in the same few places of the processor's caches.
                                 "--cfg=contexts/stack-size:8196",
                                 "--cfg=contexts/factory:" HUDDLE_SIM_CONTEXTS};
  if (model == Cluster::NetworkModel::alpha_beta)
    for (const char* word :
         {"--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0"})
      words.push_back(word);
  return words;
}

}  // namespace

Platform::Platform(const Cluster& cluster, const LinkLoadObserver& observer)
    : cluster_(cluster), network_(cluster), uses_(network_.links().size()) {
  start_engine();
  zone_ = sg::create_full_zone("cluster");
  for (int worker = 0; worker < cluster.workers; ++worker)
    hosts_.push_back(zone_->create_host(concat("worker ", worker), 1e9));
  make_links();
  if (observer) watch_.emplace(links_, observer);
  if (cluster.network_model == Cluster::NetworkModel::tcp) make_delays();
  for (const Background& background : cluster.background)
    if (background.elastic)
      for (const int link : network_.links_at(background.place, background.direction))
        start_background(background, link);
  start_link_changes();
  zone_->seal();
  sg::Link::on_communication_state_change_cb(
      [this](resource::NetworkAction& message, resource::Action::State) {
        // SimGrid's public headers do not say that a NetworkAction is an Action, which it is.
        const auto& action = reinterpret_cast<const resource::Action&>(message);
        const bool failed = action.get_state() == resource::Action::State::FAILED;
        if (!failed && action.get_state() != resource::Action::State::FINISHED) return;
        const auto found = under_way_.find(action.get_activity());
        if (found == under_way_.end()) return;
        Stream& stream = *found->second;
        under_way_.erase(found);
        end(stream, failed ? Ending::broken : Ending::arrived);
      });
}

void Platform::start_engine() {
  if (sg::Engine::is_initialized())
    throw UsageError(
        "this process has simulated a cluster already, and SimGrid can do so only once: run each "
        "simulation in a process of its own.");
  std::vector<std::string> words = configuration(cluster_.network_model);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  engine_ = std::make_unique<sg::Engine>(&count, arguments.data()).release();
}

void Platform::make_links() {
  for (int link = 0; link < static_cast<int>(network_.links().size()); ++link) {
    const Network::NamedLink& named = network_.links()[static_cast<std::size_t>(link)];
    const double at_first = network_.bandwidth(link, 0);
    const double speed = at_first > 0 ? at_first : named.bytes_per_second;  // 0: is_cut() knows.
    links_.push_back(zone_->create_link(named.name, finite(speed))->set_latency(0)->seal());
  }
}

// One link for each latency that a route may have: SimGrid wants to know all links beforehand.
void Platform::make_delays() {
  for (int from = 0; from < cluster_.workers; ++from)
    for (int to = 0; to < cluster_.workers; ++to)
      delays_[network_.route(WorkerId{from}, WorkerId{to}).latency] = nullptr;
  int delays = 0;
  for (auto& [latency, delay] : delays_)
    delay = zone_->create_link(concat("latency ", ++delays), kPlenty)
                ->set_latency(latency)
                ->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)
                ->seal();
}

Platform::Way& Platform::way(WorkerId from, WorkerId to) {
  const std::uint64_t key =
      static_cast<std::uint64_t>(from.value) << 32 | static_cast<std::uint32_t>(to.value);
  const auto [entry, is_new] = ways_.try_emplace(key);
  Way& found = entry->second;
  if (is_new) {
    found = {from, to, network_.route(from, to), 0};
    const bool adds_latency = cluster_.network_model == Cluster::NetworkModel::tcp;
    if (!adds_latency) found.latency_after = found.route.latency;
    if (!found.route.links.empty())
      add_route(host(from), host(to), found.route.links, adds_latency ? found.route.latency : 0);
  }
  return found;
}

// Routes are made when they are first needed: of the pairs among a thousand workers few ever talk.
void Platform::add_route(sg::Host* from, sg::Host* to, const std::vector<int>& links,
                         Seconds latency) {
  std::vector<sg::LinkInRoute> route;
  for (const int link : links) route.emplace_back(links_[static_cast<std::size_t>(link)]);
  if (latency > 0) route.emplace_back(delays_.at(latency));
  zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
}

bool Platform::is_cut(const Way& way) const {
  return !cluster_.cuts.empty() &&
         std::any_of(way.route.links.begin(), way.route.links.end(), [&](int link) {
           return network_.bandwidth(link, sg::Engine::get_clock()) == 0 ||
                  !links_[static_cast<std::size_t>(link)]->is_on();  // SimGrid rounds its clock.
         });
}

Platform::Stream& Platform::stream(Way& way, Lane lane) {
  for (Stream& stream : way.streams)
    if (stream.lane == lane) return stream;
  return way.streams.emplace_front(way, lane);
}

void Platform::send(Stream& stream, double bytes, Arrived arrived) {
  const bool is_idle = stream.flights.empty();
  stream.flights.push({bytes, std::move(arrived)});
  if (is_idle) start_first(stream);
}

void Platform::start_first(Stream& stream) {
  stream.flights.front().begin = sg::Engine::get_clock();
  if (watch_) watch_->before_start(stream.way.route.links);
  note(stream.way, 1, 0);
  soon([this, &stream] { depart(stream); });
}

void Platform::depart(Stream& stream) {
  const Way& way = stream.way;
  const double bytes = stream.flights.front().bytes;
  if (is_cut(way)) {  // SimGrid would fail it before we know its name.
    end(stream, Ending::broken);
    return;
  }
  note(way, 0, bytes);
  const sg::CommPtr message = sg::Comm::sendto_init(host(way.from), host(way.to));
  message->set_payload_size(static_cast<std::uint64_t>(std::max(1.0, std::round(bytes))));
  message->detach();
  under_way_[message->get_impl()] = &stream;
}

void Platform::soon(std::function<void()> call) {
  if (sg::Actor::is_maestro())
    call();
  else
    when_all_rest(std::move(call));
}

void Platform::when_all_rest(std::function<void()> call) {
  if (to_do_.empty())
    simgrid::kernel::timer::Timer::set(sg::Engine::get_clock(), [this] {
      while (!to_do_.empty()) to_do_.pop()();
    });
  to_do_.push(std::move(call));
}

// The last byte has passed all links.
void Platform::end(Stream& stream, Ending ending) {
  const Way& way = stream.way;
  if (watch_) watch_->before_end(way.route.links);
  note(way, -1, 0);
  Flight flight = stream.flights.pop();
  if (!stream.flights.empty()) start_first(stream);  // Which breaks too, where the link was cut.
  const auto tell = [arrived = std::move(flight.arrived),
                     first_bytes = flight.begin + way.route.latency,
                     broken = ending == Ending::broken] {
    arrived({first_bytes, sg::Engine::get_clock(), broken});
  };
  if (ending == Ending::broken || way.latency_after == 0)
    tell();
  else
    simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + way.latency_after, tell);
}

void Platform::note(const Way& way, int change, double bytes) {
  const Time now = sg::Engine::get_clock();
  for (const int link : way.route.links) {
    Use& use = uses_[static_cast<std::size_t>(link)];
    if (use.messages == 0) use.since = now;
    use.messages += change;
    use.bytes += bytes;
    if (bytes > 0) use.full += bytes / std::max(left_of(link), 1.0);
    if (use.messages == 0) use.busy += now - use.since;
  }
}

// What all our messages on a link have of it now, where traffic that gives way takes a fair share.
double Platform::left_of(int link) {
  const Time now = sg::Engine::get_clock();
  Use& use = uses_[static_cast<std::size_t>(link)];
  if (now >= use.steady_until) {
    use.bandwidth = network_.bandwidth(link, now);
    use.steady_until = network_.next_change(link, now);
  }
  const double all = use.bandwidth;
  if (use.elastic.empty()) return all;
  std::vector<double> rates;
  for (const Background& other : use.elastic)
    if (other.from <= now && now < other.until) rates.push_back(other.bytes_per_second);
  const double share =
      all / static_cast<double>(static_cast<std::size_t>(use.messages) + rates.size());
  double left = all;
  for (const double rate : rates) left -= std::min(rate, share);
  return left;
}

// Lets links vary and break as the cluster says.
void Platform::start_link_changes() {
  std::vector<int> changing;
  for (int link = 0; link < static_cast<int>(links_.size()); ++link)
    if (network_.next_change(link, 0) < kForever) changing.push_back(link);
  if (changing.empty()) return;
  const auto change_links = [this, changing] {
    while (true) {
      const Time now = sg::Engine::get_clock();
      Time next = kForever;
      for (const int link : changing) next = std::min(next, network_.next_change(link, now));
      if (next == kForever) return;
      sg::this_actor::sleep_until(next);
      if (watch_) watch_->before_change(changing);
      for (const int link : changing) {
        sg::Link& changed = *links_[static_cast<std::size_t>(link)];
        const double bandwidth = network_.bandwidth(link, next);
        if (bandwidth == 0 && changed.is_on()) changed.turn_off();
        if (bandwidth > 0) changed.set_bandwidth(finite(bandwidth));
      }
    }
  };
  sg::Actor::create("link changes", hosts_.front(), change_links)->daemonize();
}

// A flow of somebody else's, which shares the link with ours.
void Platform::start_background(const Background& background, int link) {
  const auto make_host = [&](const char* end) {
    return zone_->create_host(concat(end, " of background ", ++backgrounds_), 1e9);
  };
  sg::Host* const from = make_host("source");
  sg::Host* const to = make_host("target");
  add_route(from, to, {link}, 0);
  uses_[static_cast<std::size_t>(link)].elastic.push_back(background);
  const auto flow = [this, background, from, to, link] {
    sg::this_actor::sleep_until(background.from);
    if (watch_) watch_->before_change({&link, 1});
    const sg::CommPtr traffic = sg::Comm::sendto_init();
    traffic->set_rate(background.bytes_per_second)->set_payload_size(kEndless);
    traffic->set_source(from)->set_destination(to);  // Which starts it.
    try {
      if (background.until == kForever)
        traffic->wait();
      else
        traffic->wait_until(background.until);
    } catch (const simgrid::TimeoutException&) {
      if (watch_) watch_->before_change({&link, 1});
      traffic->cancel();
    } catch (const simgrid::NetworkFailureException&) {  // Its link was cut.
    }
  };
  sg::Actor::create("background", from, flow)->daemonize();
}

std::vector<LinkUse> Platform::link_uses() const {
  std::vector<LinkUse> uses;
  const Time now = sg::Engine::get_clock();
  for (std::size_t link = 0; link < uses_.size(); ++link) {
    const Use& use = uses_[link];
    const Network::NamedLink& named = network_.links()[link];
    uses.push_back({.name = named.name,
                    .bytes = use.bytes,
                    .busy = use.busy + (use.messages > 0 ? now - use.since : 0),
                    .full = use.full,
                    .bytes_per_second = named.bytes_per_second});
  }
  return uses;
}

}  // namespace huddle
