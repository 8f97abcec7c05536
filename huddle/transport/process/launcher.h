// The process engine: one worker in this process, all others in processes of their own, on this
// machine or on others. What carries the messages is a Wire.
//
// A worker that has finished says goodbye, and its process stays until all have: so that nobody
// takes its end for a loss, and worker 0 has heard everything. A process that ends without a
// goodbye is lost, and all others learn why.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "huddle/cluster/cluster.h"
#include "huddle/transport/launcher.h"
#include "huddle/transport/process/wire.h"

namespace huddle {

struct ProcessOptions {
  WorkerId self;
  Cluster cluster;    // Its speeds, halts and deaths are injected; its network is the real one.
  std::string token;  // Of the job: who does not know it is not heard.

  // What all processes must have in common, a line for each thing ("strategy: ds_sync").
  std::string terms;

  // How long a worker waits for the others before the run, until all mean the same one, and, when
  // it has ended, for those to end that live and say nothing: worker 0 may have a model to judge.
  Deadline startup;
  Deadline farewell{3600};

  std::function<void(const std::string&)> warn = [](auto&) {};  // Any thread; must not throw.
};

// Takes the wire, which is connected to all workers. Returns when all of them have done so. Throws
// UsageError, the same on all, that shows the lines in which their terms differ, if they do.
std::unique_ptr<Launcher> make_process_launcher(std::unique_ptr<Wire> wire, ProcessOptions options);

// What this engine does not inject of the cluster, in words; empty: nothing.
std::vector<std::string> left_out_by_processes(const Cluster& cluster);

}  // namespace huddle
