// Follows what the links of a simulation carry at every moment.
//
// The bandwidth that a message gets changes only when something changes on a link that it shares
// with others, directly or through messages on further links. So just before each change all links
// that it can reach in this way are asked what they have carried since they were last asked. These
// are the links whose shares SimGrid is about to compute anew; asking costs a fraction of that.

#pragma once

#include <simgrid/s4u.hpp>
#include <span>
#include <vector>

#include "huddle/cluster/link_load.h"

namespace huddle {

// Used by the process's one simulation thread.
class LinkWatch {
 public:
  // `links` is borrowed and must stay.
  LinkWatch(const std::vector<simgrid::s4u::Link*>& links, LinkLoadObserver observer);

  // Tells what the links near these have carried. REQUIRES: something on these links changes now,
  // and has not done so yet.
  void before_change(std::span<const int> links);

  // A message starts or ends on its way over these links, which are borrowed from the one call to
  // the other.
  void before_start(const std::vector<int>& route);
  void before_end(const std::vector<int>& route);

 private:
  struct Watched {
    Time told_until = 0;
    std::vector<const std::vector<int>*> routes;  // Of the messages on it.
  };

  const std::vector<simgrid::s4u::Link*>& links_;
  const LinkLoadObserver observer_;
  std::vector<Watched> watched_;  // By link.
  std::vector<int> to_visit_;     // Empty between calls, like the next; kept for their memory.
  std::vector<LinkLoad> loads_;
};

}  // namespace huddle
