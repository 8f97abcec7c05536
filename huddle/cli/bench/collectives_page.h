// The page of `huddle bench collectives`: a chart for each size of group, drawn in the page itself.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/cli/bench/collectives.h"

namespace huddle {

// One self-contained HTML file.
std::string collectives_page(std::string_view heading, const std::vector<CollectiveTime>& times);

}  // namespace huddle
