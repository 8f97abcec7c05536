// Several values for one key of a scenario, and what follows from them: one case or strategy for
// each combination, with a name that tells them apart.

#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "huddle/config/config_file.h"

namespace huddle {

// `path`: "tau", or "cluster.network.latency" where the key is inside of tables.
struct SweptKey {
  std::string path;
  std::vector<ConfigValue> values;
};
using Sweep = std::vector<SweptKey>;

// One combination: a value for every key.
using SweepPoint = std::vector<std::pair<std::string, ConfigValue>>;

// The table `sweep` of a section, whose paths must begin with one of `prefixes`.
Sweep read_sweep(ConfigSection& section, std::initializer_list<const char*> prefixes);

// Refuses `text`, the value of `key`, where it has a place in braces that no swept key fills. What
// stands in braces where nothing is swept is text like any other.
void check_places(ConfigSection& section, const char* key, const std::string& text,
                  const Sweep& sweep);

// All combinations, the last key changing fastest; one that is empty where nothing is swept.
std::vector<SweepPoint> points_of(const Sweep& sweep);

// What becomes of a value whose key the text does not name.
enum class Unnamed { appended, left_out };

// "{tau} steps" with tau=2 gives "2 steps"; "local" gives "local, tau=2". Keys go by the last word
// of their path.
std::string with_values(std::string text, const SweepPoint& point,
                        Unnamed unnamed = Unnamed::appended);

}  // namespace huddle
