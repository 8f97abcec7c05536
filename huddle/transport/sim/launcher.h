// The sim engine: every worker is an actor of a simulated cluster. Values are real, time is
// virtual: equal seeds give equal bits and equal times, whatever the machine.
//
// Computing takes the time that the cluster description says, messages the time that the network
// model gives them. Tensors without numbers (meta) travel too, so that thousands of workers can be
// timed without training them.

#pragma once

#include <memory>

#include "huddle/cluster/cluster.h"
#include "huddle/cluster/link_load.h"
#include "huddle/transport/launcher.h"
#include "huddle/transport/payload_scale.h"

namespace huddle {

struct SimOptions {
  Cluster cluster;
  PayloadScale payload_scale;   // Bytes on the network for each byte of payload.
  LinkLoadObserver link_loads;  // Told what every link carries; absent: nobody asks.
};

// One simulation per process: a second launcher, or a second run, throws UsageError. So does a
// cluster that cannot be.
std::unique_ptr<Launcher> make_sim_launcher(const SimOptions& options);

}  // namespace huddle
