#include "huddle/cluster/topology.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// Before memory is taken for them.
void expect_countable(std::int64_t workers) {
  constexpr std::int64_t kMost = 1 << 24;
  if (workers < 1 || workers > kMost)
    throw UsageError(
        concat("racks of ", workers, " workers in all; there must be from 1 to ", kMost, "."));
}

int place_of(WorkerId worker, const std::vector<int>& places) {
  check(worker.value >= 0 && worker.value < std::ssize(places), "a worker outside the topology");
  return places[static_cast<std::size_t>(worker.value)];
}

}  // namespace

int Topology::rack_of(WorkerId worker) const { return racks.empty() ? 0 : place_of(worker, racks); }

int Topology::host_of(WorkerId worker) const {
  return hosts.empty() ? worker.value : place_of(worker, hosts);
}

bool Topology::is_one_connection(Place a, Place b) const {
  const auto has_host = [&](Place place) {
    return place.kind == Place::Kind::worker && place.index >= 0 && place.index < std::ssize(hosts);
  };
  return a == b || (has_host(a) && has_host(b) && host_of({a.index}) == host_of({b.index}));
}

int Topology::rack_count() const {
  return racks.empty() ? 1 : *std::max_element(racks.begin(), racks.end()) + 1;
}

std::vector<int> Topology::rack_sizes() const {
  if (racks.empty()) return {};
  std::vector<int> sizes(static_cast<std::size_t>(rack_count()));
  for (const int rack : racks) ++sizes[static_cast<std::size_t>(rack)];
  return sizes;
}

int Topology::equal_rack_size() const {
  const std::vector<int> sizes = rack_sizes();
  const bool are_equal =
      std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
  return !sizes.empty() && are_equal && std::is_sorted(racks.begin(), racks.end()) ? sizes.front()
                                                                                   : 0;
}

Topology in_racks(const std::vector<int>& sizes) {
  std::int64_t workers = 0;
  for (const int size : sizes) {
    if (size < 1)
      throw UsageError(concat("a rack of ", size, " workers; it must have at least 1."));
    workers += size;
  }
  expect_countable(workers);
  Topology topology;
  topology.racks.reserve(static_cast<std::size_t>(workers));
  for (std::size_t rack = 0; rack < sizes.size(); ++rack)
    topology.racks.insert(topology.racks.end(), static_cast<std::size_t>(sizes[rack]),
                          static_cast<int>(rack));
  return topology;
}

Topology in_equal_racks(const EqualRacks& equal) {
  expect_countable(std::int64_t{std::max(equal.racks, 0)} * equal.workers);
  return in_racks(std::vector<int>(static_cast<std::size_t>(equal.racks), equal.workers));
}

Topology parse_racks(std::string_view text, int workers) {
  if (text.empty()) return {};
  const bool are_listed = text.find('+') != std::string_view::npos;
  const std::vector<int> shape = parse_counts("--racks", text, are_listed ? '+' : 'x');
  if (are_listed && std::accumulate(shape.begin(), shape.end(), std::int64_t{0}) == workers)
    return in_racks(shape);
  if (!are_listed && shape.size() == 2 && shape[0] > 0 &&
      std::int64_t{shape[0]} * shape[1] == workers)
    return in_equal_racks({.racks = shape[0], .workers = shape[1]});
  int racks = std::clamp(are_listed ? static_cast<int>(shape.size()) : shape.front(), 1, workers);
  while (workers % racks != 0) --racks;
  throw UsageError(concat("--racks ", text, " does not make the ", workers,
                          " workers that there are (racks x workers per rack, or the workers of "
                          "each as 4+4+2); give --workers with as many, or for example --racks ",
                          racks, "x", workers / racks, "."));
}

std::string racks_text(const Topology& topology) {
  const std::vector<int> sizes = topology.rack_sizes();
  if (sizes.empty()) return "";
  if (const int each = topology.equal_rack_size(); each > 0) return concat(sizes.size(), "x", each);
  return joined(sizes, '+');
}

}  // namespace huddle
