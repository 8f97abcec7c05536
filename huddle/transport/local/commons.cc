#include "huddle/transport/local/commons.h"

#include <algorithm>

namespace huddle {

std::shared_ptr<const void> Commons::get(const std::string& name, const Make& make) {
  const std::shared_ptr<Entry> entry = entry_for(name);
  const std::lock_guard lock(entry->mutex);
  std::shared_ptr<const void> thing = entry->thing.lock();
  if (!thing) {
    thing = make();
    entry->thing = thing;
  }
  return thing;
}

std::shared_ptr<Commons::Entry> Commons::entry_for(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= look_again_) {
    // An entry that only this map knows is in nobody's hands, so its mutex is free.
    std::erase_if(entries_, [](const auto& each) {
      return each.second.use_count() == 1 && each.second->thing.expired();
    });
    look_again_ = std::max<std::size_t>(64, 2 * entries_.size());
  }
  std::shared_ptr<Entry>& entry = entries_[name];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

}  // namespace huddle
