#include "huddle/base/error.h"
#include "huddle/config/config_file.h"

namespace huddle {

ConfigTable parse_toml(const std::string&, const std::string&) {
  throw UsageError(
      "this build cannot read cluster files and scenarios: toml++ was missing "
      "(libtomlplusplus-dev)");
}

}  // namespace huddle
