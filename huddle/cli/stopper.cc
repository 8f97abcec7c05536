#include "huddle/cli/stopper.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace huddle {

void Stopper::begin(Launcher& launcher, Ending ending) {
  const std::lock_guard lock(mutex_);
  launcher_ = &launcher;
  ending_ = ending;
  has_begun_ = true;
}

void Stopper::end() {
  const std::lock_guard lock(mutex_);
  launcher_ = nullptr;
}

void Stopper::ask() {
  const std::lock_guard lock(mutex_);
  if (!has_begun_) {
    fmt::print(stderr, "huddle: interrupted before the run began.\n");
    std::_Exit(130);
  }
  if (launcher_ == nullptr) return;
  if (ending_ == Ending::at_one_step)
    gate_.close();
  else
    launcher_->stop("interrupted");
}

void Stopper::insist() {
  const std::lock_guard lock(mutex_);
  if (launcher_ != nullptr) launcher_->stop("interrupted");
}

}  // namespace huddle
