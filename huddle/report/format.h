// What every report says in the same way: units for people, the machine, and figures taken over the
// workers of a run.
//
// Nothing here depends on the locale: a report reads the same everywhere. Numbers that are not
// finite are never hidden; they read "nan" or "inf".

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/record/record.h"

namespace huddle {

// "340 ms", "12.3 s", "1 m 12 s", "2 h 5 m", "3 d 4 h".
std::string format_seconds(Seconds seconds);

// "512 B", "1.2 MB"; decimal units, as networks count.
std::string format_bytes(double bytes);

// "1,234,567".
std::string format_count(std::int64_t count);

// How many a second: "3.5", "812", "12,345".
std::string format_rate(double per_second);

// "62.5 %" for the share 0.625.
std::string format_percent(double share, int decimals = 1);

// Four significant digits, for figures without a natural unit such as a loss: "0.3120", "12.50",
// "1.235e+06".
std::string format_figure(double figure);

// "AMD EPYC, 2 cores, 25.3 GB memory", read from `proc`; "unknown" where nothing can be read.
std::string machine_description(const std::filesystem::path& proc = "/proc");

// Mean and smallest accuracy of the workers' own models.
struct WorkerAccuracy {
  double mean = 0;
  double smallest = 0;
};

// Absent where no worker has an accuracy; workers without one do not count.
std::optional<WorkerAccuracy> worker_accuracy(const Summary& summary);

// Of all steps that were taken, by worker; empty where nobody took one.
std::vector<double> step_shares(const Summary& summary);

// The link that came closest to its limit, and the share of the run for which it would have been
// full.
struct Bottleneck {
  LinkUse link;
  double load = 0;
};

// Absent where no link carried anything, or no time passed.
std::optional<Bottleneck> bottleneck(std::span<const LinkUse> links, Seconds seconds);

// Of one step of every worker, on the average: fast ones may take more steps than slow ones, and a
// resumed run counts what it did itself. Absent where no step was taken.
std::optional<Seconds> seconds_per_step(const Summary& summary);

// Mean test loss of the workers' own models; absent where none was evaluated.
std::optional<double> worker_test_loss(const Summary& summary);

}  // namespace huddle
