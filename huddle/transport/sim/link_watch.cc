#include "huddle/transport/sim/link_watch.h"

#include <algorithm>
#include <utility>

namespace huddle {

LinkWatch::LinkWatch(const std::vector<simgrid::s4u::Link*>& links, LinkLoadObserver observer)
    : links_(links), observer_(std::move(observer)), watched_(links.size()) {}

// A link that has been asked at this moment already is passed over, with all that it reaches: they
// were asked together.
void LinkWatch::before_change(std::span<const int> links) {
  const Time now = simgrid::s4u::Engine::get_clock();
  to_visit_.assign(links.begin(), links.end());
  while (!to_visit_.empty()) {
    const int link = to_visit_.back();
    to_visit_.pop_back();
    Watched& watched = watched_[static_cast<std::size_t>(link)];
    if (watched.told_until == now) continue;
    loads_.push_back(
        {link, watched.told_until, now, links_[static_cast<std::size_t>(link)]->get_usage()});
    watched.told_until = now;
    for (const std::vector<int>* route : watched.routes)
      to_visit_.insert(to_visit_.end(), route->begin(), route->end());
  }
  if (!loads_.empty()) observer_(loads_);
  loads_.clear();
}

void LinkWatch::before_start(const std::vector<int>& route) {
  before_change(route);
  for (const int link : route) watched_[static_cast<std::size_t>(link)].routes.push_back(&route);
}

void LinkWatch::before_end(const std::vector<int>& route) {
  before_change(route);
  for (const int link : route) {
    auto& routes = watched_[static_cast<std::size_t>(link)].routes;
    std::swap(*std::find(routes.begin(), routes.end(), &route), routes.back());
    routes.pop_back();
  }
}

}  // namespace huddle
