// Topic `costs`: closed forms of communication time.

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

#include "huddle/base/error.h"
#include "huddle/cluster/cost.h"
#include "tests/vectors.h"

namespace huddle {
namespace {

using Fields = std::map<std::string, std::function<Seconds()>>;

Fields flat_fields(const nlohmann::json& input, const Payload& payload) {
  const Link link{.latency = input.at("alpha"), .bytes_per_second = input.at("bandwidth")};
  const FlatNetwork all{.workers = input.at("N"), .link = link};
  const FlatNetwork group{.workers = input.at("group"), .link = link};
  return {{"ring", [=] { return ring_seconds(all, payload); }},
          {"group_ring", [=] { return ring_seconds(group, payload); }},
          {"pair", [=] { return pair_seconds(all, payload); }}};
}

Fields rack_fields(const nlohmann::json& input, const Payload& payload) {
  const RackNetwork racks{.racks = input.at("racks"),
                          .per_rack = input.at("per_rack"),
                          .latency = input.at("alpha"),
                          .nic_bytes_per_second = input.at("nic"),
                          .uplink_bytes_per_second = input.at("uplink")};
  return {{"ring", [=] { return ring_seconds(racks, payload); }},
          {"ring_worst", [=] { return scattered_ring_seconds(racks, payload); }},
          {"leader", [=] { return leader_seconds(racks, payload); }},
          {"sharded", [=] { return sharded_seconds(racks, payload); }},
          {"grid_row", [=] { return grid_row_seconds(racks, payload); }},
          {"grid_column", [=] { return grid_column_seconds(racks, payload); }},
          {"grid_mean", [=] { return grid_mean_seconds(racks, payload); }},
          {"representative", [=] { return representative_seconds(racks, payload); }}};
}

}  // namespace

Verdict run_costs(const nlohmann::json&, const nlohmann::json& test) {
  const nlohmann::json& input = test.at("input");
  const nlohmann::json& expect = test.at("expect");
  const bool must_fail = expect.contains("error");
  try {
    const Payload payload{.bytes = input.at("bytes"), .buckets = input.at("buckets")};
    const Fields fields =
        input.at("kind") == "flat" ? flat_fields(input, payload) : rack_fields(input, payload);
    for (const auto& [name, compute] : fields) {
      const Seconds seconds = compute();
      if (must_fail) continue;
      const double expected = expect.at(name);
      if (std::abs(seconds - expected) > 1e-12 * std::abs(expected))
        return fmt::format("{} is {}, expected {}", name, seconds, expected);
    }
  } catch (const UsageError& error) {
    return must_fail ? "" : error.what();
  }
  return must_fail ? "was accepted, but must be refused" : "";
}

}  // namespace huddle
