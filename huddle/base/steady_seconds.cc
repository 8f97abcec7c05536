#include "huddle/base/steady_seconds.h"

#include <chrono>

namespace huddle {

Seconds steady_seconds() {
  return std::chrono::duration<Seconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace huddle
