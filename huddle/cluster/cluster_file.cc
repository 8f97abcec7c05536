#include "huddle/cluster/cluster_file.h"

#include <functional>
#include <map>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/cluster/cluster_problems.h"
#include "huddle/config/config_file.h"
#include "huddle/config/config_table.h"

namespace huddle {
namespace {

using Part = ClusterProblem::Part;

class ClusterReader {
 public:
  explicit ClusterReader(const std::filesystem::path& path) : file_(path) {
    cluster_.name = path.stem().string();
  }

  ClusterReader(const ConfigTable& table, const std::string& section) : file_(table, section) {}

  // Throws UsageError if anything is wrong.
  Cluster read() && {
    read_all();
    file_.finish();
    return std::move(cluster_);
  }

  Cluster read(std::vector<ConfigProblem>& problems) && {
    read_all();
    for (ConfigProblem& problem : file_.take_problems()) problems.push_back(std::move(problem));
    return std::move(cluster_);
  }

 private:
  void read_all() {
    read_racks();
    read_network();
    read_links();
    read_paths();
    read_background();
    read_varying();
    read_cuts();
    read_compute();
    read_slowdowns();
    read_pauses();
    read_deaths_and_halts();
    file_.one("model", [this](ConfigSection& model) {
      came_from(Part::model, model);
      const std::optional<double> wire = model.bytes("wire");
      if (wire == 0)
        model.refuse_key("wire", "is 0; write at least \"1kB\", or leave it out for what it is.");
      cluster_.wire_bytes = wire.value_or(0);
    });
    if (knows_workers_) report_problems();
  }

  // Remembers which table the next thing of a kind is from.
  void came_from(Part part, const ConfigSection& section) {
    lines_[part].push_back(section.line());
  }

  template <typename Item>
  void add(std::vector<Item>& items, Item item, Part part, const ConfigSection& section) {
    items.push_back(std::move(item));
    came_from(part, section);
  }

  // Which connection a table is about. Unsound sections stand for none.
  static Place read_place(ConfigSection& section) {
    const std::optional<int> worker = section.count("worker");
    const std::optional<int> rack = section.count("rack");
    if (worker.has_value() == rack.has_value())
      section.refuse("must name one connection, of a worker or of a rack: worker = 3 or rack = 0.");
    return worker ? Place{Place::Kind::worker, *worker}
                  : Place{Place::Kind::rack, rack.value_or(0)};
  }

  static WorkerId read_worker(ConfigSection& section) {
    return {section.count("worker").value_or(0)};
  }

  void read_racks() {
    ConfigSection& top = file_.top();
    const std::optional<int> in_one_rack = top.count("workers");
    if (in_one_rack && top.is_sound()) {
      cluster_.workers = *in_one_rack;
      lines_[Part::racks].push_back(top.line_of("workers"));
      knows_workers_ = true;
    }
    file_.one("racks", [&](ConfigSection& racks) {
      const auto sizes = racks.counts("sizes");
      if (!sizes) racks.needs({"count", "workers"});
      const std::optional<int> count = racks.count("count");
      const std::optional<int> workers = racks.count("workers");
      if (sizes && (count || workers))
        racks.refuse_key("sizes", "says the same as 'count' and 'workers'; leave them out.");
      const bool is_there = racks.line() > 0;
      if (is_there && in_one_rack) {
        top.refuse_key("workers", "is one rack of all; leave it out, or leave out [racks].");
        knows_workers_ = false;
      } else if (!is_there && !in_one_rack) {
        file_.report(0, "this cluster has no workers; write workers = 8 at the top, or [racks].");
      } else if (racks.is_sound() && sizes) {
        fill_racks(racks, [&] { return in_racks(*sizes); });
      } else if (racks.is_sound() && count && workers) {
        fill_racks(racks, [&] { return in_equal_racks({.racks = *count, .workers = *workers}); });
      }
    });
    cluster_.name = top.text("name").value_or(cluster_.name);
    if (const auto per_host = top.count("workers_per_host")) fill_hosts(top, *per_host);
  }

  void fill_hosts(ConfigSection& top, int per_host) {
    if (!knows_workers_) return;
    std::vector<int> racks = cluster_.topology.rack_sizes();
    if (racks.empty()) racks = {cluster_.workers};
    for (const int workers : racks)
      if (per_host == 0 || workers % per_host != 0) {
        top.refuse_key("workers_per_host",
                       concat("is ", per_host,
                              "; it must divide the workers of each rack, which "
                              "has ",
                              workers, "."));
        return;
      }
    for (int worker = 0; worker < cluster_.workers; ++worker)
      cluster_.topology.hosts.push_back(worker / per_host);
  }

  void fill_racks(const ConfigSection& racks, const std::function<Topology()>& fill) {
    try {
      cluster_.topology = fill();
    } catch (const UsageError& error) {
      file_.report(racks.line(), error.what());
      return;
    }
    cluster_.workers = static_cast<int>(cluster_.topology.racks.size());
    came_from(Part::racks, racks);
    knows_workers_ = true;
  }

  void read_network() {
    file_.one("network", [this](ConfigSection& network) {
      came_from(Part::network, network);
      if (network.choice("model", {"alpha_beta", "tcp"}) == "tcp")
        cluster_.network_model = Cluster::NetworkModel::tcp;
      cluster_.topology.nic_bytes_per_second = network.bandwidth("nic").value_or(kUnlimited);
      cluster_.topology.uplink_bytes_per_second = network.bandwidth("uplink").value_or(kUnlimited);
      if (const auto oversubscription = network.number("oversubscription"))
        oversubscribe(network, *oversubscription);
      cluster_.topology.latency_in_rack = network.seconds("latency").value_or(0);
      cluster_.topology.latency_between_racks =
          network.seconds("latency_between").value_or(cluster_.topology.latency_in_rack);
    });
  }

  void oversubscribe(ConfigSection& network, double oversubscription) {
    if (network.has("uplink"))
      network.refuse_key("oversubscription", "says the same as 'uplink'; leave one of them out.");
    else if (!network.has("nic"))
      network.refuse_key("oversubscription", "needs 'nic', which it is relative to.");
    else if (oversubscription == 0)
      network.refuse_key("oversubscription", "is 0; write a number greater than 0, for example 4.");
    else if (const int workers = cluster_.topology.racks.empty()
                                     ? cluster_.workers
                                     : cluster_.topology.equal_rack_size())
      cluster_.topology.uplink_bytes_per_second =
          workers / workers_per_host() * cluster_.topology.nic_bytes_per_second / oversubscription;
    else
      network.refuse_key("oversubscription", "needs racks of equal size; write 'uplink' instead.");
  }

  // Hosts are filled in order, so the last one tells how many there are.
  int workers_per_host() const {
    const std::vector<int>& hosts = cluster_.topology.hosts;
    return hosts.empty() ? 1 : cluster_.workers / (hosts.back() + 1);
  }

  void read_links() {
    file_.each("link", [this](ConfigSection& section) {
      LinkOverride link{.place = read_place(section)};
      const bool has_place = section.is_sound();
      link.bytes_per_second = section.bandwidth("bandwidth");
      link.extra_latency = section.seconds("latency").value_or(0);
      if (!section.has("bandwidth") && !section.has("latency"))
        section.refuse("changes nothing; give it a 'bandwidth', a 'latency' or both.");
      if (has_place) add(cluster_.topology.link_overrides, link, Part::link_override, section);
    });
  }

  // Whether the worker exists is not known yet.
  int rack_at(int worker) const {
    return worker < std::ssize(cluster_.topology.racks) ? cluster_.topology.rack_of({worker}) : 0;
  }

  void read_paths() {
    file_.each("path", [this](ConfigSection& section) {
      const auto racks = section.pair("racks");
      const auto workers = section.pair("workers");
      if (racks.has_value() == workers.has_value())
        section.refuse("must join two racks or two workers: racks = [0, 1] or workers = [2, 5].");
      const auto [a, b] = racks ? *racks : workers.value_or(std::pair(0, 1));
      const Place::Kind kind = racks ? Place::Kind::rack : Place::Kind::worker;
      const bool crosses = racks || rack_at(a) != rack_at(b);
      Path path{{kind, a}, {kind, b}, {}};
      path.link.bytes_per_second = section.bandwidth("bandwidth").value_or(kUnlimited);
      path.link.latency = section.seconds("latency").value_or(
          crosses ? cluster_.topology.latency_between_racks : cluster_.topology.latency_in_rack);
      if (section.is_sound()) add(cluster_.topology.paths, path, Part::path, section);
    });
  }

  void read_background() {
    file_.each("background", [this](ConfigSection& section) {
      section.needs({"rate"});
      Background traffic{.place = read_place(section)};
      const auto direction = section.choice("direction", {"both", "out", "in"});
      if (direction == "out") traffic.direction = Direction::out;
      if (direction == "in") traffic.direction = Direction::in;
      traffic.bytes_per_second = section.bandwidth("rate").value_or(0);
      traffic.elastic = section.flag("elastic").value_or(false);
      traffic.from = section.seconds("from").value_or(0);
      traffic.until = section.seconds("until").value_or(kForever);
      if (section.is_sound()) add(cluster_.background, traffic, Part::background, section);
    });
  }

  void read_varying() {
    file_.each("varying", [this](ConfigSection& section) {
      section.needs({"lowest"});
      const bool all = section.choice("workers", {"all"}).has_value();
      if (all && (section.has("worker") || section.has("rack")))
        section.refuse_key("workers", "names all; leave out 'worker' and 'rack'.");
      Variation variation;
      if (!all) variation.place = read_place(section);
      variation.lowest = section.number("lowest").value_or(1);
      variation.highest = section.number("highest").value_or(1);
      variation.every = section.seconds("every").value_or(1);
      if (!section.is_sound()) return;
      for (int worker = 0; worker < (all ? cluster_.workers : 1); ++worker) {
        if (all && worker % workers_per_host() != 0) continue;  // One connection is drawn once.
        if (all) variation.place = {Place::Kind::worker, worker};
        add(cluster_.variations, variation, Part::variation, section);
      }
    });
  }

  void read_cuts() {
    file_.each("cut", [this](ConfigSection& section) {
      section.needs({"time"});
      const Cut cut{.place = read_place(section), .time = section.seconds("time").value_or(0)};
      if (section.is_sound()) add(cluster_.cuts, cut, Part::cut, section);
    });
  }

  void read_compute() {
    file_.one("compute", [this](ConfigSection& compute) {
      came_from(Part::compute, compute);
      came_from(Part::wander, compute);
      cluster_.compute_per_step = compute.seconds("step").value_or(cluster_.compute_per_step);
      cluster_.backward_share = compute.number("backward").value_or(cluster_.backward_share);
      cluster_.jitter = compute.number("jitter").value_or(0);
      if (compute.choice("jitter_kind", {"normal", "half_normal"}) == "half_normal")
        cluster_.jitter_kind = Cluster::Jitter::half_normal;
      Wander& wander = cluster_.wander;
      wander.amplitude = compute.number("wander").value_or(0);
      wander.period_steps = compute.number("wander_steps").value_or(wander.period_steps);
    });
  }

  void read_slowdowns() {
    file_.each("slow", [this](ConfigSection& section) {
      section.needs({"worker", "factor"});
      Slowdown slowdown{.worker = read_worker(section), .first = {}};
      slowdown.factor = section.number("factor").value_or(1);
      slowdown.first = section.step("from_step").value_or(slowdown.first);
      slowdown.last = section.step("to_step").value_or(slowdown.last);
      if (section.is_sound()) add(cluster_.slowdowns, slowdown, Part::slowdown, section);
    });
    file_.one("random_slow", [this](ConfigSection& section) {
      section.needs({"workers"});
      came_from(Part::random_slowdown, section);
      RandomSlowdown& random = cluster_.random_slowdown;
      random.workers = section.count("workers").value_or(0);
      random.factor = section.number("factor").value_or(random.factor);
    });
  }

  void read_pauses() {
    file_.each("pause", [this](ConfigSection& section) {
      section.needs({"probability", "time"});
      Pause pause;
      pause.probability = section.number("probability").value_or(0);
      pause.seconds = section.seconds("time").value_or(0);
      if (section.has("worker")) pause.worker = read_worker(section);
      if (section.is_sound()) add(cluster_.pauses, pause, Part::pause, section);
    });
  }

  void read_deaths_and_halts() {
    file_.each("death", [this](ConfigSection& section) {
      section.needs({"worker"});
      Death death{.worker = read_worker(section), .step = {}};
      death.step = section.step("step").value_or(death.step);
      death.after_operations = section.count("after_operations").value_or(0);
      death.time = section.seconds("time");
      if (section.has("step") == section.has("time"))
        section.refuse("must say when: at a step, step = 10, or at a time, time = \"5s\".");
      else if (section.has("time") && section.has("after_operations"))
        section.refuse_key("after_operations", "goes with 'step', not with 'time'.");
      if (section.is_sound()) add(cluster_.deaths, death, Part::death, section);
    });
    file_.each("halt", [this](ConfigSection& section) {
      section.needs({"worker", "time", "for"});
      Halt halt{.worker = read_worker(section)};
      halt.from = section.seconds("time").value_or(0);
      halt.seconds = section.seconds("for").value_or(0);
      if (section.is_sound()) add(cluster_.halts, halt, Part::halt, section);
    });
  }

  // A table that names all workers is said to be wrong once, not for each of them.
  void report_problems() {
    for (const ClusterProblem& problem : find_problems(cluster_)) {
      const std::vector<int>& lines = lines_[problem.part];
      const std::size_t index = problem.index;
      const bool is_repeated =
          problem.part == Part::variation && index > 0 && lines[index] == lines[index - 1];
      if (!is_repeated) file_.report(index < lines.size() ? lines[index] : 0, problem.sentence);
    }
  }

  ConfigFile file_;
  Cluster cluster_;
  std::map<Part, std::vector<int>> lines_;  // Of the tables, in the order of each part.
  bool knows_workers_ = false;              // Whether it can be told which workers exist.
};

}  // namespace

Cluster read_cluster_file(const std::filesystem::path& path) { return ClusterReader(path).read(); }

Cluster read_cluster_table(const ConfigTable& table, const std::string& section,
                           std::vector<ConfigProblem>& problems) {
  return ClusterReader(table, section).read(problems);
}

void drop_replaced(ConfigTable& base, const ConfigTable& over) {
  const auto replace = [](ConfigTable& from, const ConfigTable& by, const char* one,
                          const char* other) {
    for (const auto& [key, rival] : {std::pair(one, other), std::pair(other, one)})
      if (find_entry(by, key))
        std::erase_if(from, [&](const ConfigEntry& entry) { return entry.key == rival; });
  };
  replace(base, over, "workers", "racks");
  for (ConfigEntry& entry : base) {
    const ConfigEntry* upper = find_entry(over, entry.key);
    auto* lower_table = std::get_if<ConfigTable>(&entry.value.value);
    const auto* upper_table = upper ? std::get_if<ConfigTable>(&upper->value.value) : nullptr;
    if (!lower_table || !upper_table) continue;
    if (entry.key == "network") replace(*lower_table, *upper_table, "uplink", "oversubscription");
    if (entry.key == "racks")
      for (const char* key : {"count", "workers"})
        replace(*lower_table, *upper_table, "sizes", key);
  }
}

}  // namespace huddle
