#include "huddle/cli/train_check.h"

#include <cmath>

#include "huddle/cli/engines.h"
#include "huddle/core/error.h"
#include "huddle/core/spec.h"
#include "huddle/core/text.h"
#include "huddle/train/learning_rate.h"

namespace huddle {

void require(bool condition, const std::string& message) {
  if (!condition) throw UsageError(message);
}

void check_counts(const CLI::App& command, const TrainConfig& config) {
  require(config.workers >= 1, concat("--workers is ", config.workers, "; it must be at least 1."));
  require(config.steps >= 1, concat("--steps is ", config.steps, "; it must be at least 1."));
  require(command.count("--epochs") == 0 || (config.epochs > 0 && config.epochs <= 1e9),
          concat("--epochs is ", config.epochs, "; it must be positive and at most 1e9."));
  require(config.batch >= 1, concat("--batch is ", config.batch, "; it must be at least 1."));
  require(config.holdout >= 0 && config.holdout < 1,
          concat("--holdout is ", config.holdout, "; it is a share, from 0 to below 1: 0.1."));
  require(config.holdout == 0 || parse_spec(config.data).name != "quadratic",
          "--holdout needs samples, and --data quadratic has none.");
  require(config.accumulate >= 1,
          concat("--accumulate is ", config.accumulate, "; it must be at least 1."));
  require(config.deadline > 0, concat("--deadline is ", config.deadline, "; it must be positive."));
  require(config.save_every >= 0,
          concat("--save-every is ", config.save_every, "; it must not be negative."));
  require(config.evaluate_every >= 0,
          concat("--evaluate-every is ", config.evaluate_every, "; it must not be negative."));
  for (const char* option : {"--out", "--save", "--resume", "--data-dir"})
    require(command.count(option) == 0 || !command.get_option(option)->as<std::string>().empty(),
            concat(option, " is empty; name a folder."));
  require(command.count("--timeline") == 0 || !config.timeline.empty(),
          "--timeline is empty; name a file, as timeline.json.");
  require(config.seed >= 0, concat("--seed is ", config.seed, "; it must not be negative."));
  require(std::isfinite(config.learning_rate),
          concat("--lr is ", config.learning_rate, "; it must be finite."));
  require(!config.compute.empty() || is_simulated(config.engine) ||
              (config.slow.empty() && config.jitter == 0),
          "--slow and --jitter stretch the time of --compute, which is not given; add for example "
          "--compute 5ms.");
  require(config.swa_every == 0 || config.swa_start > 0, "--swa-every needs --swa-start.");
  require(config.clip_norm >= 0,
          concat("--clip is ", config.clip_norm, "; it must not be negative."));
  require(config.swa_start >= 0 && config.swa_every >= 0,
          "--swa-start and --swa-every must not be negative.");
  require(config.save_every == 0 || !config.save.empty(),
          "--save-every needs --save, the folder to write to.");
}

void check_length(const TrainConfig& config) {
  LearningRate(config.schedule, config.learning_rate, config.steps);
  require(config.swa_start < config.steps,
          concat("--swa-start is ", config.swa_start, ", past the end of a run of ", config.steps,
                 " steps; ", config.steps * 3 / 4, " would leave the last quarter."));
}

}  // namespace huddle
