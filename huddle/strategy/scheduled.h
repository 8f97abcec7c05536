// Averaging inside scheduled groups: what DS-Sync, SESGD and random groups have in common. Which
// groups: their own rooms.
//
//   x_i <- x_i - lr * g_i(x_i)                      a local optimizer step, whatever the optimizer
//   x_i <- mean of x_j over the group of i at step t
//
// The groups change every step, so that everybody's update reaches everybody within a period. A
// group average leaves the mean of all models as it was: the mean moves as under synchronous SGD,
// and only the workers' spread around it differs.
//
// With `every=k` groups meet at every k-th step only. With `hide=step` the average of one meeting
// travels until the next (late_average.h), so a step costs the longer of computing and exchanging:
//
//   x_i <- local optimizer step
//   x_i <- x_i + (m - s_i)         m: the mean of what the group of the last meeting sent, s_i: own
//   s_i <- x_i, which travels      to the group of this one
//
// With y the models right after a correction that is y <- y W - lr * g(y), D-PSGD's recurrence with
// a changing W, against (y - lr * g(y)) W without hiding. Ours; no paper has it.
//
// Cost per step: one average in a group of n (a pair: M bytes, 1 message in sequence; a ring:
// 2(n-1)/n M, 2(n-1) messages).

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "huddle/schedule/schedule.h"
#include "huddle/strategy/entry.h"

namespace huddle {

struct ScheduledOptions {
  enum class Order { after, before };  // When models are averaged, seen from the local step.
  enum class Overlap { none, backward };

  Order order = Order::after;
  Overlap overlap = Overlap::none;
  SlotPolicy slots = SlotPolicy::keep;
  int buckets = 1;
  Algorithm algorithm = Algorithm::ring;
  WireFormat wire = WireFormat::full;  // int8: pairs only, see near_pairs.h.
  std::optional<WireFormat> slots_wire = {};
};

std::unique_ptr<Strategy> make_scheduled(const Schedule& schedule, const ScheduledOptions& options,
                                         const StrategyContext& context);

std::unique_ptr<Strategy> make_hidden_groups(const Schedule& schedule,
                                             const ScheduledOptions& options,
                                             const StrategyContext& context);

// The ablation: gradients instead of models are averaged in the groups. Models drift apart.
std::unique_ptr<Strategy> make_scheduled_gradients(const Schedule& schedule,
                                                   const ScheduledOptions& options,
                                                   const StrategyContext& context);

// What the run is told of its schedule, by worker 0.
std::map<std::string, double> schedule_figures(const Schedule& schedule, WorkerId self);

// A strategy of this kind: its name, summary and the keys of its schedule, and which schedule they
// stand for. With the key `form` among them it has two forms, else the published one.
StrategyEntry scheduled_entry(SpecInfo info,
                              std::function<Schedule(const Options&, const Cluster&)> schedule);

}  // namespace huddle
