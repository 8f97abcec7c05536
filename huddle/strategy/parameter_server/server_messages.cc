#include "huddle/strategy/parameter_server/server_messages.h"

#include <algorithm>

namespace huddle {

Range slice_of(const Bucket& bucket, WorkerId home, int workers) {
  const std::int64_t least = bucket.range.size() / workers;
  const std::int64_t one_more = bucket.range.size() % workers;  // So many have one element more.
  const auto begin = [&](std::int64_t i) {
    return bucket.range.begin + i * least + std::min(i, one_more);
  };
  return {begin(home.value), begin(home.value + 1)};
}

}  // namespace huddle
