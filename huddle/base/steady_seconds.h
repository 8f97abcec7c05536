// Real time from any origin, never going back: for what is shown and for patience, never for what a
// run computes, which asks its engine.

#pragma once

#include "huddle/base/ids.h"

namespace huddle {

Seconds steady_seconds();

}  // namespace huddle
