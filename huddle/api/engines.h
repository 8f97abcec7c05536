// The engines that this build has, by name.

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "huddle/base/spec.h"
#include "huddle/cluster/cluster.h"
#include "huddle/cluster/link_load.h"
#include "huddle/transport/launcher.h"
#include "huddle/transport/payload_scale.h"

namespace huddle {

std::vector<SpecInfo> known_engines();

// `spec`: "threads", "threads:native=off", "sim". `payload_scale`: bytes on the network for each
// byte of payload. `link_loads`, where given, is told what every link of a simulation carries;
// other engines have none. Throws UsageError on an unknown engine or key and on a cluster that
// cannot be.
std::unique_ptr<Launcher> make_engine(std::string_view spec, const Cluster& cluster,
                                      const PayloadScale& payload_scale,
                                      const LinkLoadObserver& link_loads = {});

// Whether this build can simulate; the other throws UsageError where it cannot.
bool has_simulation();
void require_simulation();

// Whether the engine of this spec runs in virtual time.
bool is_simulated(std::string_view spec);

// What the engine of this spec leaves out of the cluster, in words; empty: nothing.
std::vector<std::string> left_out_by_engine(std::string_view spec, const Cluster& cluster);

}  // namespace huddle
