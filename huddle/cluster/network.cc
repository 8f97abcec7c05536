#include "huddle/cluster/network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::uint64_t kVariationStream = 5;  // 1 to 4 are in cluster.cc.
constexpr double kLeastShare = 0.01;           // Of a link that disturbances never take away.

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The number k of the interval k * every <= now < (k + 1) * every. The quotient may be off by one
// where it is rounded, but the bounds must be the very numbers that next_change gives out.
double interval_of(Time now, Seconds every) {
  double k = std::floor(now / every);
  if ((k + 1) * every <= now) ++k;
  if (k * every > now) --k;
  return k;
}

bool is_active(const Background& traffic, Time now) {
  return traffic.from <= now && now < traffic.until;
}

bool is_cut(const Cluster& cluster, Place place) {
  return std::any_of(cluster.cuts.begin(), cluster.cuts.end(), [&](const Cut& cut) {
    return cluster.topology.is_one_connection(cut.place, place);
  });
}

std::string name_at(Place place, const Topology& topology) {
  return place.kind == Place::Kind::worker && !topology.hosts.empty()
             ? concat("host ", topology.host_of({place.index}))
             : to_string(place);
}

}  // namespace

Network::Network(const Cluster& cluster)
    : latency_in_rack_(cluster.topology.latency_in_rack),
      latency_between_racks_(cluster.topology.latency_between_racks) {
  cluster.validate();
  std::map<int, Ends> hosts;
  for (int worker = 0; worker < cluster.workers; ++worker) {
    rack_of_.push_back(cluster.topology.rack_of({worker}));
    host_of_.push_back(cluster.topology.host_of({worker}));
    const auto [host, is_new] = hosts.try_emplace(host_of_.back());
    if (is_new) host->second = make_ends(cluster, {Place::Kind::worker, worker});
    workers_.push_back(host->second);
  }
  // A single rack has nobody to connect to, so its uplink binds nothing.
  const int racks = cluster.topology.rack_count();
  for (int rack = 0; rack < racks; ++rack)
    racks_.push_back(racks > 1 ? make_ends(cluster, {Place::Kind::rack, rack}) : Ends{});
  make_paths(cluster);
  disturb(cluster);
  is_free_ = costs_nothing(static_cast<int>(hosts.size()));
}

Network::Ends Network::make_ends(const Cluster& cluster, Place place) {
  Ends ends;
  double bytes_per_second = place.kind == Place::Kind::worker
                                ? cluster.topology.nic_bytes_per_second
                                : cluster.topology.uplink_bytes_per_second;
  for (const LinkOverride& other : cluster.topology.link_overrides) {
    if (!cluster.topology.is_one_connection(other.place, place)) continue;
    bytes_per_second = other.bytes_per_second.value_or(bytes_per_second);
    ends.extra_latency = other.extra_latency;
  }
  if (bytes_per_second != kUnlimited || is_cut(cluster, place)) {
    const std::string name = name_at(place, cluster.topology);
    ends.out = add(concat(name, " out"), bytes_per_second);
    ends.in = add(concat(name, " in"), bytes_per_second);
  }
  return ends;
}

void Network::make_paths(const Cluster& cluster) {
  for (const Path& path : cluster.topology.paths) {
    const auto [a, b] = std::minmax(path.a, path.b);
    Stretch stretch{.a = a, .b = b, .latency = path.link.latency};
    if (path.link.bytes_per_second != kUnlimited) {
      stretch.forth =
          add(concat("path ", to_string(a), " to ", to_string(b)), path.link.bytes_per_second);
      stretch.back =
          add(concat("path ", to_string(b), " to ", to_string(a)), path.link.bytes_per_second);
    }
    paths_.push_back(stretch);
  }
  std::sort(paths_.begin(), paths_.end(), [](const Stretch& one, const Stretch& other) {
    return std::pair(one.a, one.b) < std::pair(other.a, other.b);
  });
}

void Network::disturb(const Cluster& cluster) {
  disturbances_.resize(links_.size());
  for (const Variation& variation : cluster.variations)
    for (const Direction direction : {Direction::out, Direction::in})
      for (const int link : links_at(variation.place, direction)) {
        std::vector<Disturbances::Varying>& varying = disturbances_[at(link)].varying;
        Random random(cluster.seed,
                      {kVariationStream, static_cast<std::uint64_t>(variation.place.kind),
                       static_cast<std::uint64_t>(variation.place.index),
                       static_cast<std::uint64_t>(direction), varying.size()});
        varying.push_back({variation, random.bits()});
      }
  for (const Background& traffic : cluster.background)
    if (!traffic.elastic)
      for (const int link : links_at(traffic.place, traffic.direction))
        disturbances_[at(link)].taken.push_back(traffic);
  for (const Cut& cut : cluster.cuts)
    for (const int link : links_at(cut.place, Direction::both))
      disturbances_[at(link)].cut = std::min(disturbances_[at(link)].cut, cut.time);
}

bool Network::costs_nothing(int hosts) const {
  if (hosts < 2) return true;
  const auto delays = [](const auto& part) { return part.extra_latency > 0; };
  const bool has_neighbours = hosts > std::ssize(racks_);
  return links_.empty() && !(has_neighbours && latency_in_rack_ > 0) &&
         !(racks_.size() > 1 && latency_between_racks_ > 0) &&
         std::none_of(workers_.begin(), workers_.end(), delays) &&
         std::none_of(racks_.begin(), racks_.end(), delays) &&
         std::none_of(paths_.begin(), paths_.end(),
                      [](const Stretch& path) { return path.latency > 0; });
}

int Network::add(std::string name, double bytes_per_second) {
  links_.push_back({std::move(name), bytes_per_second});
  return static_cast<int>(links_.size()) - 1;
}

Network::Route Network::route(WorkerId from, WorkerId to) const {
  if (host_of_[at(from.value)] == host_of_[at(to.value)]) return {};
  const Ends& sender = workers_[at(from.value)];
  const Ends& receiver = workers_[at(to.value)];
  const int rack_from = rack_of_[at(from.value)];
  const int rack_to = rack_of_[at(to.value)];
  const bool crosses = rack_from != rack_to;

  Route route;
  route.latency = crosses ? latency_between_racks_ : latency_in_rack_;
  if (!links_.empty()) route.links.reserve(6);
  const auto pass = [&route](int link) {
    if (link >= 0) route.links.push_back(link);
  };
  const auto follow = [&](Place a, Place b) {
    if (const Stretch* path = stretch_between(a, b)) {
      pass(a < b ? path->forth : path->back);
      route.latency = path->latency;
    }
  };

  pass(sender.out);
  if (crosses) pass(racks_[at(rack_from)].out);
  if (!paths_.empty()) {  // The path of the workers comes last, so that its latency holds.
    if (crosses) follow({Place::Kind::rack, rack_from}, {Place::Kind::rack, rack_to});
    follow({Place::Kind::worker, from.value}, {Place::Kind::worker, to.value});
  }
  if (crosses) pass(racks_[at(rack_to)].in);
  pass(receiver.in);

  route.latency += sender.extra_latency + receiver.extra_latency;
  if (crosses)
    route.latency += racks_[at(rack_from)].extra_latency + racks_[at(rack_to)].extra_latency;
  return route;
}

const Network::Ends& Network::ends(Place place) const {
  const std::vector<Ends>& all = place.kind == Place::Kind::worker ? workers_ : racks_;
  check(place.index >= 0 && at(place.index) < all.size(), "the place does not exist");
  return all[at(place.index)];
}

const Network::Stretch* Network::stretch_between(Place a, Place b) const {
  const std::pair<Place, Place> wanted = std::minmax(a, b);
  const auto found = std::lower_bound(
      paths_.begin(), paths_.end(), wanted,
      [](const Stretch& path, const auto& ends) { return std::pair(path.a, path.b) < ends; });
  const bool fits = found != paths_.end() && std::pair(found->a, found->b) == wanted;
  return fits ? &*found : nullptr;
}

std::vector<int> Network::links_at(Place place, Direction direction) const {
  const Ends& connection = ends(place);
  std::vector<int> links;
  if (direction != Direction::in && connection.out >= 0) links.push_back(connection.out);
  if (direction != Direction::out && connection.in >= 0) links.push_back(connection.in);
  return links;
}

const Network::Disturbances& Network::disturbances(int link) const {
  check(link >= 0 && at(link) < links_.size(), "the link does not exist");
  return disturbances_[at(link)];
}

double Network::bandwidth(int link, Time now) const {
  const Disturbances& disturbed = disturbances(link);
  if (now >= disturbed.cut) return 0;
  const double undisturbed = links_[at(link)].bytes_per_second;
  double left = undisturbed;
  for (const auto& [variation, stream] : disturbed.varying) {
    const double interval = interval_of(now, variation.every);
    Random random(stream, {static_cast<std::uint64_t>(interval)});
    left *= variation.lowest + (variation.highest - variation.lowest) * random.uniform();
  }
  for (const Background& traffic : disturbed.taken)
    if (is_active(traffic, now)) left -= traffic.bytes_per_second;
  return std::max(left, kLeastShare * undisturbed);
}

Time Network::next_change(int link, Time now) const {
  const Disturbances& disturbed = disturbances(link);
  if (now >= disturbed.cut) return kForever;
  Time next = disturbed.cut;
  for (const auto& [variation, stream] : disturbed.varying)
    if (variation.lowest < variation.highest)
      next = std::min(next, (interval_of(now, variation.every) + 1) * variation.every);
  for (const Background& traffic : disturbed.taken)
    for (const Time moment : {traffic.from, traffic.until})
      if (moment > now) next = std::min(next, moment);
  // Draws that follow one another faster than the clock can tell apart must not stop it.
  return std::max(next, std::nextafter(now, kForever));
}

}  // namespace huddle
