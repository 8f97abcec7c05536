// Whether a folder is the same one for all workers of a run, wherever they are.

#pragma once

#include <filesystem>
#include <string>

#include "huddle/transport/launcher.h"

namespace huddle {

// Throws UsageError, on all workers, that names those who do not see what worker 0 writes there.
// `option`: how the folder was named. Not while another run is under way.
void require_shared(Launcher& launcher, const std::filesystem::path& folder,
                    const std::string& option);

}  // namespace huddle
