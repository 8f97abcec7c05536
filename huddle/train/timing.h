// Timing alone: every worker lives through the steps of a strategy with a model that has a size but
// no numbers.
//
// It is the same strategy and collective code as in training, on meta tensors, so thousands of
// workers fit into one process and a step costs microseconds. Only an engine in virtual time makes
// sense of it.

#pragma once

#include "huddle/train/trainer.h"

namespace huddle {

// The model's size on the wire is `model_bytes`, in float32. Of the options, those about the
// strategy, the optimizer's slots and time are used.
TrainResult time_strategy(Launcher& launcher, double model_bytes, const TrainOptions& options,
                          const StepObserver& observer);

}  // namespace huddle
