// A cluster described in a file. The format, key by key, is in docs/clusters.md; examples are in
// clusters/.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/config/config_file.h"

namespace huddle {

// Throws UsageError that lists all problems of the file, "FILE:LINE: message" each, in the order
// of lines. The seed of the result is 0.
Cluster read_cluster_file(const std::filesystem::path& path);

// A cluster that another file holds as its section `section`. What is wrong with it is added to
// `problems`; the result is then of no use.
Cluster read_cluster_table(const ConfigTable& table, const std::string& section,
                           std::vector<ConfigProblem>& problems);

// What can be said in two ways, and must be said in one: a table that says it the one way over a
// cluster that says it the other replaces it.
void drop_replaced(ConfigTable& base, const ConfigTable& over);

}  // namespace huddle
