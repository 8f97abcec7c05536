#include "huddle/api/run.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "huddle/api/engine.h"
#include "huddle/base/text.h"
#include "huddle/cluster/network.h"
#include "huddle/report/page/html_report.h"
#include "huddle/report/run_files.h"
#include "huddle/report/timeline.h"
#include "huddle/train/logged_run.h"

namespace huddle {
namespace {

// What a run writes while it goes on.
struct Outputs {
  std::unique_ptr<RunFiles> files;
  std::unique_ptr<TimelineFile> timeline;
};

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

Outputs make_outputs(const Engine& engine, const RunOptions& options) {
  Outputs outputs;
  if (options.out.empty()) return outputs;
  outputs.files = std::make_unique<RunFiles>(options.out);
  if (!options.timeline) return outputs;
  TimelineSubject subject{.strategy = options.title,
                          .engine = engine.spec,
                          .version = HUDDLE_VERSION,
                          .workers = engine.cluster.workers,
                          .is_virtual = is_simulated(engine.spec)};
  const Network network(engine.cluster);
  if (subject.is_virtual)
    for (const Network::NamedLink& link : network.links()) subject.links.push_back(link.name);
  outputs.timeline = std::make_unique<TimelineFile>(options.out / "timeline.json", subject);
  return outputs;
}

RunSetting setting_of(const Engine& engine, const RunOptions& options, Outputs& outputs) {
  RunSetting setting{.cluster = engine.cluster,
                     .topology = std::make_shared<const Topology>(engine.cluster.topology),
                     .evaluate_every = options.evaluate_every,
                     .keeps_blocked = options.timeline};
  setting.cluster.seed = options.seed;
  setting.taken = [&outputs](const StepRecord& record) {
    if (outputs.files) outputs.files->append(record);
    if (outputs.timeline) outputs.timeline->add(record);
  };
  setting.finished = [&outputs](WorkerId worker, const std::vector<Blocked>& blocked) {
    if (outputs.timeline) outputs.timeline->add_finish(worker, blocked);
  };
  return setting;
}

// The fields that logs do not know.
void complete(Summary& summary, const Engine& engine, const RunOptions& options,
              const Attached& attached, const std::exception_ptr& error) {
  const bool diverged = attached.tells_loss && !std::isfinite(summary.loss);
  summary.status = error ? ending_of(error).status : diverged ? "diverged" : "complete";
  summary.strategy = attached.strategy;
  summary.model = attached.model;
  summary.optimizer = attached.optimizer;
  summary.steps = attached.steps > 0 ? attached.steps : summary.steps_done;
  summary.engine = engine.spec;
  summary.data = options.data;
  summary.batch = options.batch;
  if (summary.seconds > 0)
    summary.samples_per_second =
        static_cast<double>(summary.steps_taken * options.batch) / summary.seconds;
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
  check_outputs(options);
  const int threads_before = at::get_num_threads();  // Engines have one for each worker.
  Outputs outputs;
  const RunSetting setting = setting_of(engine, options, outputs);
  LinkLoadObserver link_loads;
  if (options.timeline)
    link_loads = [&outputs](std::span<const LinkLoad> loads) { outputs.timeline->add(loads); };
  const std::unique_ptr<Launcher> launcher =
      make_engine(engine.spec, setting.cluster, setting.payload_scale, link_loads);
  outputs = make_outputs(engine, options);
  std::vector<Attached> attached(static_cast<std::size_t>(engine.cluster.workers));
  TrainResult result = run_logged(
      *launcher, {.workers = engine.cluster.workers}, [&](Endpoint& endpoint, WorkerLog& log) {
        Recorder recorder(endpoint, setting, log,
                          attached[static_cast<std::size_t>(endpoint.self().value)]);
        Worker worker(endpoint, &recorder);
        body(worker);
      });
  at::set_num_threads(threads_before);
  complete(result.summary, engine, options, attached.front(), result.error);
  if (outputs.timeline) outputs.timeline->close();  // First: the summary says that all is there.
  if (outputs.files) {
    outputs.files->write_summary(result.summary, HUDDLE_VERSION);
    outputs.files->close();
    if (options.report && !result.error && can_write_report())
      write_report({options.out}, options.out / "report.html");
  }
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.summary);
}

}  // namespace huddle
