// For tests: workers that descend simple functions under a strategy, on the threads engine.
//
// Everything is one flat tensor of float64 and a gradient in closed form, so a whole run takes
// milliseconds and its numbers can be checked by hand.

#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/cluster/cluster.h"
#include "huddle/record/meter.h"
#include "huddle/strategy/strategy.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// Worker i's own optimum is near i, and moves.
at::Tensor towards_own_number(int worker, int step, const at::Tensor& x);

// With a rate of 1, worker i moves to -i in its first step and stays there, but for what others do
// to it.
at::Tensor own_number_once(int worker, int step, const at::Tensor& x);

at::Tensor one_everywhere(int worker, int step, const at::Tensor& x);

struct Descent {
  enum class Through { memory, messages };

  std::string spec;
  int workers = 4;
  int steps = 12;
  int per_rack = 0;  // 0: one rack.
  std::int64_t size = 60;
  int layers = 2;               // Parameters of about equal size.
  std::int64_t statistics = 2;  // Elements; worker i adds i + 1 to each at every step.
  UpdateOptions update = {.learning_rate = 0.1, .momentum = 0.9};
  std::function<double(int step)> learning_rate = {};  // Instead of a constant one.
  std::function<at::Tensor(int worker, int step, const at::Tensor& x)> gradient =
      towards_own_number;
  Through through = Through::memory;
  Seconds compute = 0;  // Of one step.
  std::vector<Slowdown> slowdowns = {};
  std::optional<int> resume_after;      // So many steps; the strategy is saved and made anew.
  std::optional<int> statistics_until;  // They grow in the steps before this one alone.
  std::int64_t run_steps = 0;  // What the strategy is told of the run's length; 0: nothing.
  int home = 0;                // Beside whom its services run.
  std::optional<int> skip;     // A step at which worker 1 skips its update.
};

struct Descended {
  std::vector<at::Tensor> parameters;  // By worker.
  std::vector<at::Tensor> statistics;
  std::vector<std::map<std::string, at::Tensor>> models;  // After `finish`.
  std::vector<Meter::Total> traffic;
  std::vector<std::vector<double>> path;  // path[t][i]: worker i's first element after step t.
  std::vector<std::vector<double>> slot;  // Likewise, of the first slot; 0 where there is none.
  std::vector<Group> groups;              // Of worker 0, by step.
  std::vector<double> progress;           // Likewise.
};

Descended descend(const Descent& descent);

double first_of(const at::Tensor& tensor);  // Element.
at::Tensor mean_of(const std::vector<at::Tensor>& tensors);

// The largest distance of a worker from the mean, and of two runs from one another.
double spread(const std::vector<at::Tensor>& tensors);
double distance(const Descended& a, const Descended& b);
bool same_bits(const Descended& a, const Descended& b);
bool all_equal(const std::vector<at::Tensor>& tensors);

// Five workers take 12 steps; worker 2 dies at the beginning of step 4, or after so many operations
// there. Counts those who finish.
std::vector<Loss> lose_worker_2(const std::string& spec, int after_operations,
                                std::atomic<int>& finished);

}  // namespace huddle
