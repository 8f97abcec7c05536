#include "tests/conformance/conformance.h"

#include "huddle/base/text.h"

namespace huddle {
namespace {

Cluster cluster_of(int workers) {
  Cluster cluster;
  cluster.workers = workers;
  return cluster;
}

}  // namespace

std::unique_ptr<Launcher> Conformance::make_launcher(int workers) const {
  return GetParam().make(cluster_of(workers));
}

std::vector<Loss> Conformance::run(const Cluster& cluster,
                                   const std::function<void(Endpoint&)>& body) const {
  return GetParam().make(cluster)->run(body);
}

std::vector<Loss> Conformance::run(int workers, const std::function<void(Endpoint&)>& body) const {
  return run(cluster_of(workers), body);
}

std::vector<Loss> ConformanceOfSize::run(const std::vector<Death>& deaths,
                                         const std::function<void(Endpoint&)>& body) const {
  Cluster cluster = cluster_of(workers());
  cluster.deaths = deaths;
  return std::get<TestedEngine>(GetParam()).make(cluster)->run(body);
}

std::string name_of_engine(const testing::TestParamInfo<TestedEngine>& info) {
  return info.param.name;
}

std::string name_of_size(const testing::TestParamInfo<std::tuple<TestedEngine, int>>& info) {
  return concat(std::get<TestedEngine>(info.param).name, "_", std::get<int>(info.param));
}

}  // namespace huddle
