#include "huddle/api/run.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "huddle/api/engine.h"
#include "huddle/api/run_outputs.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/report/page/html_report.h"
#include "huddle/train/logged_run.h"

namespace huddle {
namespace {

void check_outputs(const RunOptions& options) {
  if (options.out.empty() && options.timeline)
    throw UsageError("a timeline needs a folder: {.out = \"out/run\", .timeline = true}.");
  const std::string place = concat("out = '", options.out.string(), "'");
  const auto check_file = [&](const char* name, OwnFile kind) {
    check_replaceable(options.out / name, kind, options.older, place, ".older = Older::replace");
  };
  if (options.out.empty()) return;
  check_file("summary.json", OwnFile::summary);
  check_file("steps.jsonl", OwnFile::steps);
  if (options.report) check_file("report.html", OwnFile::report);
  if (options.timeline) check_file("timeline.json", OwnFile::timeline);
}

// The fields that logs do not know.
void complete(TrainResult& result, const Engine& engine, const RunOptions& options) {
  Summary& summary = result.summary;
  const bool diverged = result.tells_loss && !std::isfinite(summary.loss);
  summary.status = !result.error && diverged ? "diverged" : ending_of(result.error).status;
  if (summary.steps == 0) summary.steps = summary.steps_done;
  summary.engine = engine.spec;
  summary.data = options.data;
  summary.seed = options.seed;
  summary.cluster = engine.cluster.name;
  if (is_simulated(engine.spec)) summary.network = name_of(engine.cluster.network_model);
  const std::vector<std::string> left_out = left_out_by_engine(engine.spec, engine.cluster);
  if (!left_out.empty())
    summary.warnings.push_back(
        concat("the engine ", engine.spec, " leaves out of this cluster: ", joined(left_out), "."));
}

}  // namespace

Summary run(const Engine& engine, const std::function<void(Worker&)>& body,
            const RunOptions& options) {
  // Only the process of worker 0 writes.
  const bool writes = !engine.place || engine.place->rank == 0;
  if (writes) check_outputs(options);
  const int threads_before = at::get_num_threads();  // Engines have one for each worker.
  Engine seeded = engine;
  seeded.cluster.seed = options.seed;
  const Cluster& cluster = seeded.cluster;
  TrainOptions own{.strategy = "",  // That and the steps tells whoever attaches.
                   .workers = cluster.workers,
                   .steps = 0,
                   .batch = options.batch,
                   .topology = std::make_shared<const Topology>(cluster.topology),
                   .compute = {cluster.compute_per_step, cluster.backward_share},
                   .evaluate_every = options.evaluate_every};
  const WireSize wire{.bytes = cluster.wire_bytes};
  own.keeps_blocked = options.timeline;
  RunOutputs outputs(
      {writes ? options.out : "", writes && options.timeline ? options.out / "timeline.json" : ""});
  std::optional<Job> job;
  if (engine.place) job = Job{.place = *engine.place, .terms = concat("Huddle ", HUDDLE_VERSION)};
  const std::unique_ptr<Launcher> launcher =
      make_engine(engine.spec, cluster, wire.scale, outputs.link_loads(), job);
  outputs.open(seeded, options.title, own);
  TrainResult result = run_logged(
      *launcher, own, [&](const StepRecord& record) { outputs.add(record); },
      [&](Endpoint& endpoint, Recorder& recorder) {
        Worker worker(endpoint, own, wire, recorder);
        body(worker);
      });
  at::set_num_threads(threads_before);
  complete(result, engine, options);
  outputs.close(result.summary);
  if (writes && !options.out.empty() && options.report && !result.error && can_write_report())
    write_report({options.out}, options.out / "report.html");
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.summary);
}

}  // namespace huddle
