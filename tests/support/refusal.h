// What a user is told who asks for something wrong.

#pragma once

#include <functional>
#include <string>

#include "huddle/base/error.h"

namespace huddle {

// The message of the UsageError that `body` throws; empty where it throws none.
inline std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace huddle
