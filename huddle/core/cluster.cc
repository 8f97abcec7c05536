#include "huddle/core/cluster.h"

#include <cmath>

#include "huddle/core/error.h"
#include "huddle/core/random.h"
#include "huddle/core/text.h"

namespace huddle {
namespace {

constexpr std::uint64_t kJitterStream = 1;

void validate_link(const Link& link, const std::string& name) {
  if (!(link.latency >= 0 && std::isfinite(link.latency)))
    throw UsageError(concat("the latency of ", name, " is ", link.latency,
                            " s; it must be finite and not negative."));
  if (!(link.bytes_per_second > 0))
    throw UsageError(concat("the bandwidth of ", name, " is ", link.bytes_per_second,
                            " bytes/s; it must be positive."));
}

}  // namespace

const Link& Cluster::link(WorkerId from, WorkerId to) const {
  const auto found = links.find({from, to});
  if (found != links.end()) return found->second;
  return rack_of(from) == rack_of(to) ? in_rack : between_racks;
}

bool Cluster::has_free_links() const {
  for (const auto& [ends, link] : links)
    if (!link.is_free()) return false;
  return in_rack.is_free() && (racks() == 1 || between_racks.is_free());
}

Seconds Cluster::compute_time(WorkerId worker, Step step, Seconds work) const {
  double factor = 1;
  for (const Slowdown& slowdown : slowdowns)
    if (slowdown.worker == worker && slowdown.first <= step && step <= slowdown.last)
      factor *= slowdown.factor;
  if (jitter > 0) {
    Random random(seed, {kJitterStream, static_cast<std::uint64_t>(worker.value),
                         static_cast<std::uint64_t>(step.value)});
    factor *= 1 + jitter * std::abs(random.normal());
  }
  return work * factor;
}

void Cluster::validate() const {
  const auto check_worker = [this](WorkerId worker, const char* what) {
    if (worker.value < 0 || worker.value >= workers)
      throw UsageError(concat(what, " names worker ", worker.value, ", but the workers are 0 to ",
                              workers - 1, "."));
  };
  if (workers < 1)
    throw UsageError(concat("the number of workers is ", workers, "; it must be at least 1."));
  if (workers_per_rack < 0 || (workers_per_rack > 0 && workers % workers_per_rack != 0))
    throw UsageError(concat(workers, " workers do not fill racks of ", workers_per_rack, "."));
  validate_link(in_rack, "the links inside a rack");
  validate_link(between_racks, "the links between racks");
  for (const auto& [ends, link] : links) {
    check_worker(ends.first, "a link");
    check_worker(ends.second, "a link");
    validate_link(link, concat("the link from ", ends.first.value, " to ", ends.second.value));
  }
  if (!(compute_per_step >= 0 && std::isfinite(compute_per_step)))
    throw UsageError(concat("the compute time per step is ", compute_per_step,
                            " s; it must be finite and not negative."));
  if (!(jitter >= 0 && std::isfinite(jitter)))
    throw UsageError(concat("the jitter is ", jitter, "; it must be finite and not negative."));
  for (const Slowdown& slowdown : slowdowns) {
    check_worker(slowdown.worker, "a slowdown");
    if (slowdown.first > slowdown.last)
      throw UsageError(
          concat("the slowdown of worker ", slowdown.worker.value, " ends before it begins."));
    if (!(slowdown.factor > 0 && std::isfinite(slowdown.factor)))
      throw UsageError(concat("the slowdown of worker ", slowdown.worker.value, " is ",
                              slowdown.factor, "; it must be positive."));
  }
  for (const Death& death : deaths) {
    check_worker(death.worker, "a death");
    if (death.step.value < 0 || death.after_operations < 0)
      throw UsageError(concat("the death of worker ", death.worker.value, " is at step ",
                              death.step.value, " after ", death.after_operations,
                              " operations; neither may be negative."));
  }
}

}  // namespace huddle
