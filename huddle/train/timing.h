// Timing alone: every worker lives through the steps of a strategy with a model of which only the
// size matters.
//
// It is the same strategy and collective code as in training. In virtual time the model has no
// numbers (meta tensors), so thousands of workers fit into one process and a step costs
// microseconds; elsewhere as many bytes travel as a real model has, and computing is waited for.

#pragma once

#include "huddle/train/trainer.h"

namespace huddle {

// The model has `model_bytes` in float32, on the wire too. Of the options, those about the
// strategy, the optimizer's slots and time are used.
TrainResult time_strategy(Launcher& launcher, double model_bytes, const TrainOptions& options,
                          const StepObserver& observer);

}  // namespace huddle
