#include "huddle/strategy/parameter_server/asp.h"

#include <utility>

#include "huddle/strategy/parameter_server/served.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

SpecInfo with_served_keys(SpecInfo info) {
  for (KeyInfo& key : served_keys()) info.keys.push_back(std::move(key));
  return info;
}

}  // namespace

SpecInfo asp_info() {
  return with_served_keys(
      {.name = "asp",
       .summary = "asynchronous SGD: a server applies every gradient when it arrives",
       .keys = {choice_key("delay_scaled", "off",
                           "on: a gradient that is t updates old counts 1/(1+t), not 1/workers",
                           {"off", "on"})}});
}

std::unique_ptr<Strategy> make_asp(const Options& options, const StrategyContext& context) {
  const bool by_delay = options.text("delay_scaled") == "on";
  return make_served(
      {.scale = by_delay ? ServerOptions::Scale::by_delay : ServerOptions::Scale::by_workers},
      options, context);
}

SpecInfo ssp_info() {
  return with_served_keys(
      {.name = "ssp",
       .summary = "stale synchronous SGD: as asp, but nobody gets far ahead of the slowest",
       .keys = {{.name = "bound",
                 .fallback = "3",
                 .help = "by how many steps a worker may be ahead of the slowest; 0: a barrier"}}});
}

std::unique_ptr<Strategy> make_ssp(const Options& options, const StrategyContext& context) {
  return make_served({.bound = options.integer("bound")}, options, context);
}

}  // namespace huddle
