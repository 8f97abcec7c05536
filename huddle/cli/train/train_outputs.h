// What a run writes (--out, --timeline, --save), and what may lie there already: nothing that is
// not Huddle's, and nothing of another run unless --replace is given.

#pragma once

#include "huddle/cli/train/train_config.h"

namespace huddle {

// Throws UsageError unless the run may write where it is told to. To be called when a checkpoint
// has been taken over: the folders of the run that is resumed are no other run's.
void check_outputs(const TrainConfig& config);

// Whether both name the same place, existing or not.
bool is_same_path(const std::string& one, const std::string& other);

}  // namespace huddle
