// Points of learning curves.

#pragma once

#include "huddle/compare/target.h"

namespace huddle {

inline CurvePoint point(double progress, Time time, double accuracy) {
  return {.progress = progress, .time = time, .consensus = {.loss = 1, .accuracy = accuracy}};
}

}  // namespace huddle
