// A cluster described in a file. The format, key by key, is in docs/clusters.md; examples are in
// clusters/.

#pragma once

#include <filesystem>

#include "huddle/core/cluster.h"

namespace huddle {

// Throws UsageError that lists all problems of the file, "FILE:LINE: message" each, in the order
// of lines. The seed of the result is 0.
Cluster read_cluster_file(const std::filesystem::path& path);

}  // namespace huddle
