// Lists of a run, of whatever length, as what a page can draw of them.

#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

namespace huddle {

// Six digits are more than a chart can show.
double rounded(double number);

// `run["time"]`: beyond 64 workers each entry is the mean of neighbours, from "worker" to "last".
// With the shares of steps, and what they count for ("heard"), in place of the lists of the run.
void thin_times(nlohmann::ordered_json& run);

// `run["links"]`: links that are loaded alike become one entry with their "count" and "names", the
// highest load first; what is beyond the first few is counted in "links_left_out".
void thin_links(nlohmann::ordered_json& run);

// `run["curve"]`: every n-th measurement, "curve_every", and the last.
void thin_curve(nlohmann::ordered_json& run, std::size_t most_points);

}  // namespace huddle
