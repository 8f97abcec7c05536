#include "huddle/api/engine.h"

#include "huddle/api/engines.h"
#include "huddle/base/error.h"
#include "huddle/cluster/cluster_file.h"

namespace huddle {

Engine threads(int workers) {
  Engine engine;
  engine.cluster.workers = workers;
  engine.cluster.validate();
  return engine;
}

Engine threads(const std::filesystem::path& cluster_file) {
  return {"threads", read_cluster_file(cluster_file), cluster_file.string()};
}

Engine simulate(const std::filesystem::path& cluster_file) {
  require_simulation();
  return {"sim", read_cluster_file(cluster_file), cluster_file.string()};
}

}  // namespace huddle
