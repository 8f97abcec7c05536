// What one worker leaves behind of a run, and the summary of all of them.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <tuple>
#include <vector>

#include "huddle/record/record.h"
#include "huddle/strategy/step_loop.h"

namespace huddle {

// Written by its worker's thread, read after the run.
struct WorkerLog {
  // Of the run, or of what the worker attached; the summary tells worker 0's.
  std::string strategy;
  std::string settled;
  std::string model;
  std::string optimizer;
  std::int64_t steps = 0;
  bool tells_loss = false;    // Somebody said what a loss was.
  double payload_scale = 1;   // Bytes are counted as they count on the wire.
  bool has_own_pace = false;  // The run ends by the steps of all workers together.
  std::int64_t steps_done = 0;
  std::int64_t first_step = 0;
  std::int64_t parameters = 0;
  double rate_factors = 0;  // Of all steps together.
  TimeSplit time;
  double bytes_sent = 0;
  Seconds seconds = 0;
  std::deque<double> last_losses;  // Those that were told.
  std::optional<Quality> own;
  std::optional<Quality> consensus;
  std::optional<Quality> swa;
  std::map<std::string, Quality> others;  // Further models of the strategy, by name.
  std::vector<Time> snapshot_times;
  std::vector<CurvePoint> curve;  // One for each of them, without its time. Of worker 0.
  std::optional<double> drift;
  bool was_let_out = false;      // The gate was closed, and the worker ended at the common step.
  std::optional<Step> diverged;  // The step at which the worker ended the run for this reason.
  std::map<std::string, double> figures;
  std::vector<std::string> warnings;

  // Counts what was exchanged after the last step, and returns what the worker waited for.
  std::vector<Blocked> add_traffic(Meter::Total traffic);

  // Counts the step, in which the loss was this if anybody said so, and returns its record.
  StepRecord add(WorkerId worker, StepTaken taken, const std::optional<double>& loss);

  // The same of a step of which only the record is known.
  void count(const StepRecord& record);

  static auto fields(auto& self) {
    return std::tie(self.strategy, self.model, self.optimizer, self.steps, self.tells_loss,
                    self.payload_scale, self.has_own_pace, self.steps_done, self.first_step,
                    self.parameters, self.rate_factors, self.time, self.bytes_sent, self.seconds,
                    self.last_losses, self.own, self.consensus, self.swa, self.others,
                    self.snapshot_times, self.curve, self.drift, self.was_let_out, self.diverged,
                    self.figures, self.warnings);
  }

 private:
  std::vector<Blocked> on_the_wire(std::vector<Blocked> blocked) const;
};

// The fields of a summary that the logs know.
Summary summarise(const std::vector<WorkerLog>& logs);

}  // namespace huddle
