#include "huddle/train/remote_logs.h"

#include "huddle/base/error.h"
#include "huddle/base/pack.h"

namespace huddle {
namespace {

// The first letter of a report.
constexpr char kStep = 's';
constexpr char kFinish = 'f';
constexpr char kLog = 'l';

}  // namespace

StepObserver told_by(Launcher& launcher) {
  return [&launcher](const StepRecord& record) { launcher.report(kStep + packed(record)); };
}

std::function<void(WorkerId, const std::vector<Blocked>&)> finish_told_by(Launcher& launcher) {
  return [&launcher](WorkerId, const std::vector<Blocked>& blocked) {
    launcher.report(kFinish + packed(blocked));
  };
}

void tell_log(Launcher& launcher, const WorkerLog& log) { launcher.report(kLog + packed(log)); }

void hear_logs(Launcher& launcher, const TrainOptions& options, const StepObserver& observer,
               std::vector<WorkerLog>& logs) {
  launcher.on_report([&options, &observer, &logs](WorkerId from, std::string_view report) {
    check(!report.empty(), "a report is empty");
    const std::string_view told = report.substr(1);
    WorkerLog& log = logs[static_cast<std::size_t>(from.value)];
    switch (report.front()) {
      case kStep: {
        const auto record = unpacked<StepRecord>(told);
        check(record.worker == from, "a worker reports a step of another one");
        log.count(record);
        return observer(record);
      }
      case kFinish: return options.finished(from, unpacked<std::vector<Blocked>>(told));
      case kLog: log = unpacked<WorkerLog>(told); return;
      default: check(false, "a report of no kind that there is");
    }
  });
}

}  // namespace huddle
