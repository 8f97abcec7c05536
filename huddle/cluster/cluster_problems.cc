#include "huddle/cluster/cluster_problems.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "huddle/base/text.h"
#include "huddle/base/units.h"

namespace huddle {
namespace {

using Part = ClusterProblem::Part;

constexpr double kLeastBandwidth = 1.0 / 8;  // Bytes per second.

class Finder {
 public:
  explicit Finder(const Cluster& cluster) : cluster_(cluster) {}

  std::vector<ClusterProblem> find() && {
    check_racks();
    check_network();
    check_each(Part::link_override, cluster_.topology.link_overrides, &Finder::check_override);
    check_each(Part::path, cluster_.topology.paths, &Finder::check_path);
    check_each(Part::background, cluster_.background, &Finder::check_background);
    check_each(Part::variation, cluster_.variations, &Finder::check_variation);
    check_each(Part::cut, cluster_.cuts, &Finder::check_cut);
    check_compute();
    check_each(Part::slowdown, cluster_.slowdowns, &Finder::check_slowdown);
    check_random_slowdown();
    check_each(Part::pause, cluster_.pauses, &Finder::check_pause);
    check_wander();
    check_each(Part::death, cluster_.deaths, &Finder::check_death);
    check_each(Part::halt, cluster_.halts, &Finder::check_halt);
    if (found_.empty()) check_longest_step();
    check_model();
    return std::move(found_);
  }

 private:
  void look_at(Part part, std::size_t index = 0) {
    part_ = part;
    index_ = index;
  }

  template <typename Item>
  void check_each(Part part, const std::vector<Item>& items, void (Finder::*check)(const Item&)) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      look_at(part, i);
      (this->*check)(items[i]);
    }
  }

  template <typename... Parts>
  void report(const Parts&... parts) {
    found_.push_back({part_, index_, concat(parts...)});
  }

  // The simple rules. Each reports and returns false where its rule is broken; a value that is
  // not a number breaks all of them.

  bool expect(bool holds, std::string_view what, double value, std::string_view unit,
              std::string_view rule) {
    if (!holds) report(what, " is ", value, unit, "; it must be ", rule, ".");
    return holds;
  }

  struct Range {
    double least = 0;
    double most = 0;
  };

  bool expect_in(Range range, std::string_view what, double value, std::string_view unit) {
    return expect(value >= range.least && value <= range.most, what, value, unit,
                  concat("from ", range.least, " to ", range.most, unit));
  }

  bool expect_time(std::string_view what, Seconds value) {
    return expect_in({0, kLongestTime}, what, value, " s");
  }

  bool expect_factor(std::string_view what, double value) {
    return expect_in({1e-6, 1e6}, what, value, "");
  }

  bool expect_share(std::string_view what, double value) {
    return expect(value >= 0 && value <= 1, what, value, "", "between 0 and 1");
  }

  bool expect_bandwidth(std::string_view what, double value) {
    return expect(value >= kLeastBandwidth, what, value, " bytes/s",
                  concat("at least ", kLeastBandwidth, " bytes/s (1 bps), as 10Gbps"));
  }

  // Without workers every mention of one would be wrong; that there are none is said once.
  bool expect_exists(std::string_view what, WorkerId worker) {
    if (cluster_.workers < 1) return false;
    const bool exists = worker.value >= 0 && worker.value < cluster_.workers;
    if (!exists)
      report(what, " names worker ", worker.value, ", but the workers are 0 to ",
             cluster_.workers - 1, ".");
    return exists;
  }

  bool expect_exists(std::string_view what, Place place) {
    if (place.kind == Place::Kind::worker) return expect_exists(what, WorkerId{place.index});
    if (cluster_.workers < 1 || !has_sound_places_) return false;
    const int racks = cluster_.topology.rack_count();
    if (racks < 2) {
      report(what, " names rack ", place.index,
             ", but a single rack has no connection to others; it needs at least 2 racks.");
      return false;
    }
    const bool exists = place.index >= 0 && place.index < racks;
    if (!exists)
      report(what, " names rack ", place.index, ", but the racks are 0 to ", racks - 1, ".");
    return exists;
  }

  // REQUIRES: the place exists.
  double bandwidth_at(Place place) const {
    for (const LinkOverride& other : cluster_.topology.link_overrides)
      if (cluster_.topology.is_one_connection(other.place, place) && other.bytes_per_second)
        return *other.bytes_per_second;
    return place.kind == Place::Kind::worker ? cluster_.topology.nic_bytes_per_second
                                             : cluster_.topology.uplink_bytes_per_second;
  }

  bool expect_limited(std::string_view what, Place place) {
    const bool limited = bandwidth_at(place) != kUnlimited;
    if (!limited)
      report(what, " is on the connection of ", to_string(place),
             ", whose bandwidth is unlimited, so there is nothing to share; give it a bandwidth.");
    return limited;
  }

  void check_racks() {
    look_at(Part::racks);
    const int workers = cluster_.workers;
    if (workers < 1) report("the number of workers is ", workers, "; it must be at least 1.");
    const Topology& topology = cluster_.topology;
    const bool has_sound_racks = expect_counted("racks", topology.racks);
    const bool has_sound_hosts = expect_counted("hosts", topology.hosts);
    has_sound_places_ = has_sound_racks && has_sound_hosts;
    if (has_sound_places_) check_hosts(topology);
  }

  bool expect_counted(std::string_view what, std::vector<int> places) {
    if (places.empty() || cluster_.workers < 1) return true;
    if (std::ssize(places) != cluster_.workers) {
      report("there are ", cluster_.workers, " workers, but ", places.size(), " have ", what,
             "; all must.");
      return false;
    }
    std::sort(places.begin(), places.end());
    const auto gap = std::adjacent_find(places.begin(), places.end(),
                                        [](int one, int next) { return next > one + 1; });
    const bool are_counted = places.front() == 0 && gap == places.end();
    if (!are_counted)
      report("the ", what, " of the workers go from ", places.front(), " to ", places.back(),
             "; they must be counted from 0, with none left out.");
    return are_counted;
  }

  void check_hosts(const Topology& topology) {
    std::map<int, int> racks;  // By host.
    for (int worker = 0; worker < std::ssize(topology.hosts); ++worker) {
      const int rack = topology.rack_of({worker});
      const auto& [host, its_rack] = *racks.try_emplace(topology.host_of({worker}), rack).first;
      if (its_rack == rack) continue;
      report("host ", host, " has workers in two racks; it must stand in one.");
      return;
    }
  }

  void check_network() {
    look_at(Part::network);
    expect_bandwidth("the bandwidth of a worker's connection",
                     cluster_.topology.nic_bytes_per_second);
    expect_bandwidth("the bandwidth of a rack's uplink", cluster_.topology.uplink_bytes_per_second);
    expect_time("the latency inside a rack", cluster_.topology.latency_in_rack);
    expect_time("the latency between racks", cluster_.topology.latency_between_racks);
  }

  void check_override(const LinkOverride& link) {
    if (!expect_exists("a link", link.place)) return;
    const std::string name = concat("the connection of ", to_string(link.place));
    if (link.bytes_per_second)
      expect_bandwidth(concat("the bandwidth of ", name), *link.bytes_per_second);
    expect_time(concat("the extra latency of ", name), link.extra_latency);
    for (std::size_t i = 0; i < index_; ++i)
      if (cluster_.topology.is_one_connection(cluster_.topology.link_overrides[i].place,
                                              link.place)) {
        report(name, " is described twice; describe it once.");
        break;
      }
  }

  void check_path(const Path& path) {
    const std::string name =
        concat("the path between ", to_string(path.a), " and ", to_string(path.b));
    if (path.a.kind != path.b.kind) {
      report(name, " joins different kinds; a path is between two workers or between two racks.");
      return;
    }
    if (path.a == path.b)
      report(name, " joins the same place; its two ends must differ.");
    else if (cluster_.topology.is_one_connection(path.a, path.b))
      report(name, " joins workers of one host, who need no network; leave it out.");
    expect_exists("a path", path.a);
    if (path.a != path.b) expect_exists("a path", path.b);
    expect_bandwidth(concat("the bandwidth of ", name), path.link.bytes_per_second);
    expect_time(concat("the latency of ", name), path.link.latency);
    for (std::size_t i = 0; i < index_; ++i) {
      const Path& other = cluster_.topology.paths[i];
      if (std::minmax(other.a, other.b) == std::minmax(path.a, path.b)) {
        report(name, " is described twice; one path serves both directions.");
        break;
      }
    }
  }

  void check_background(const Background& traffic) {
    if (!expect_exists("background traffic", traffic.place)) return;
    const std::string name = concat("the background traffic of ", to_string(traffic.place));
    const bool is_rate = expect_in({kLeastBandwidth, 1e18}, concat("the rate of ", name),
                                   traffic.bytes_per_second, " bytes/s");
    expect_time(concat("the beginning of ", name), traffic.from);
    if (traffic.until != kForever) expect_time(concat("the end of ", name), traffic.until);
    if (!(traffic.from < traffic.until))
      report(name, " lasts from ", traffic.from, " s until ", traffic.until,
             " s; it must begin before it ends.");
    if (expect_limited(name, traffic.place) && is_rate && !traffic.elastic) {
      if (traffic.direction != Direction::in) check_left_over(traffic, Direction::out);
      if (traffic.direction != Direction::out) check_left_over(traffic, Direction::in);
    }
  }

  // Traffic that does not give way is heaviest at a moment when some of it begins, so it is enough
  // to look at the moment when each begins.
  void check_left_over(const Background& traffic, Direction direction) {
    double taken = 0;
    for (const Background& other : cluster_.background)
      if (!other.elastic && cluster_.topology.is_one_connection(other.place, traffic.place) &&
          (other.direction == Direction::both || other.direction == direction) &&
          other.from <= traffic.from && traffic.from < other.until)
        taken += other.bytes_per_second;
    const double bandwidth = bandwidth_at(traffic.place);
    if (!(taken >= bandwidth)) return;
    const std::string sentence = concat(
        "background traffic that does not give way takes ", taken, " bytes/s of ",
        to_string(traffic.place), direction == Direction::out ? " out" : " in", " at ",
        traffic.from, " s; it must leave something of the ", bandwidth, " bytes/s that there are.");
    const bool is_known = std::any_of(found_.begin(), found_.end(), [&](const auto& problem) {
      return problem.sentence == sentence;
    });
    if (!is_known) report(sentence);
  }

  void check_variation(const Variation& variation) {
    if (!expect_exists("a variation", variation.place)) return;
    const std::string name = concat("the variation of ", to_string(variation.place));
    if (!(variation.lowest >= 1e-6 && variation.lowest <= variation.highest &&
          variation.highest <= 1e6))
      report(name, " goes from ", variation.lowest, " to ", variation.highest,
             "; it must go from at least 1e-06 to a number that is not smaller and at most 1e+06, "
             "for example from 0.2 to 1.");
    expect_in({1e-6, kLongestTime}, concat("the time between draws of ", name), variation.every,
              " s");
    expect_limited(name, variation.place);
  }

  void check_cut(const Cut& cut) {
    if (!expect_exists("a cut", cut.place)) return;
    expect_time(concat("the time of the cut of ", to_string(cut.place)), cut.time);
  }

  void check_compute() {
    look_at(Part::compute);
    expect_time("the compute time per step", cluster_.compute_per_step);
    expect_share("the share of backward in the compute time", cluster_.backward_share);
    expect_in({0, 100}, "the jitter", cluster_.jitter, "");
  }

  void check_slowdown(const Slowdown& slowdown) {
    if (!expect_exists("a slowdown", slowdown.worker)) return;
    const std::string name = concat("the slowdown of worker ", slowdown.worker.value);
    expect_factor(concat("the factor of ", name), slowdown.factor);
    if (slowdown.first.value < 0 || slowdown.first > slowdown.last)
      report(name, " lasts from step ", slowdown.first.value, " to step ", slowdown.last.value,
             "; it must begin at step 0 or later and not end before it begins.");
  }

  void check_random_slowdown() {
    look_at(Part::random_slowdown);
    const RandomSlowdown& random = cluster_.random_slowdown;
    if (random.workers < 0 || (cluster_.workers >= 1 && random.workers > cluster_.workers))
      report("the random slowdown hits ", random.workers, " workers of ", cluster_.workers,
             "; it must be between 0 and all of them.");
    expect_factor("the factor of the random slowdown", random.factor);
  }

  void check_pause(const Pause& pause) {
    if (pause.worker && !expect_exists("a pause", *pause.worker)) return;
    expect_share("the probability of a pause", pause.probability);
    expect_time("the time of a pause", pause.seconds);
    if (!(cluster_.compute_per_step >= 1e-9))
      report("there is a pause, but the compute time per step is ", cluster_.compute_per_step,
             " s; a pause is spread over it, so it must be at least 1e-09 s.");
  }

  void check_wander() {
    look_at(Part::wander);
    const Wander& wander = cluster_.wander;
    expect(wander.amplitude >= 0 && wander.amplitude < 1, "the amplitude of the wander",
           wander.amplitude, "", "at least 0 and less than 1");
    expect_in({0.1, 1e9}, "the period of the wander", wander.period_steps, " steps");
  }

  void check_death(const Death& death) {
    if (!expect_exists("a death", death.worker)) return;
    const std::string name = concat("the death of worker ", death.worker.value);
    if (death.step.value < 0 || death.after_operations < 0)
      report(name, " is at step ", death.step.value, " after ", death.after_operations,
             " operations; both must be at least 0.");
    if (!death.time) return;
    expect_time(concat("the time of ", name), *death.time);
    if (death.step.value != 0 || death.after_operations != 0)
      report(name, " has a time, ", *death.time, " s, and a step, ", death.step.value, " (after ",
             death.after_operations, " operations); it must have one or the other.");
  }

  void check_halt(const Halt& halt) {
    if (!expect_exists("a halt", halt.worker)) return;
    const std::string name = concat("the halt of worker ", halt.worker.value);
    expect_time(concat("the beginning of ", name), halt.from);
    expect_time(concat("the length of ", name), halt.seconds);
  }

  // Slowdowns of one worker multiply. REQUIRES: each of them is in order.
  void check_longest_step() {
    std::map<WorkerId, double> factors;
    for (const Slowdown& slowdown : cluster_.slowdowns)
      factors.try_emplace(slowdown.worker, 1).first->second *= std::max(1.0, slowdown.factor);
    const double random =
        cluster_.random_slowdown.workers > 0 ? std::max(1.0, cluster_.random_slowdown.factor) : 1;
    look_at(Part::compute);
    for (const auto& [worker, factor] : factors) {
      const Seconds longest = cluster_.compute_per_step * random * factor;
      if (!(longest <= kLongestTime))
        report("slowed down by all its factors, a step of worker ", worker.value, " takes ",
               longest, " s; it must take at most ", kLongestTime, " s.");
    }
  }

  double slowest_link() const {
    double slowest =
        std::min(cluster_.topology.nic_bytes_per_second, cluster_.topology.uplink_bytes_per_second);
    for (const LinkOverride& link : cluster_.topology.link_overrides)
      slowest = std::min(slowest, link.bytes_per_second.value_or(kUnlimited));
    for (const Path& path : cluster_.topology.paths)
      slowest = std::min(slowest, path.link.bytes_per_second);
    return slowest;
  }

  void check_model() {
    look_at(Part::model);
    const double bytes = cluster_.wire_bytes;
    if (bytes == 0 || !expect_in({kLeastWireBytes, kMostWireBytes},
                                 "the size of the model on the wire", bytes, " bytes"))
      return;
    const double slowest = slowest_link();
    if (found_.empty() && bytes > kLongestTime * slowest)
      report("the size of the model on the wire is ", bytes, " bytes, which take ", bytes / slowest,
             " s over a link of ", slowest, " bytes/s; it must be at most ", kLongestTime * slowest,
             " bytes there, which take ", kLongestTime, " s.");
  }

  const Cluster& cluster_;
  std::vector<ClusterProblem> found_;
  bool has_sound_places_ = true;
  Part part_ = Part::racks;
  std::size_t index_ = 0;
};

}  // namespace

std::vector<ClusterProblem> find_problems(const Cluster& cluster) { return Finder(cluster).find(); }

}  // namespace huddle
