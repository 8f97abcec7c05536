#include "huddle/base/components.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

TEST(Components, AreJoinedOneByOne) {
  Components components(7);
  EXPECT_EQ(components.count(), 7);
  components.join(0, 1);
  components.join(2, 3);
  components.join(1, 0);
  EXPECT_EQ(components.count(), 5);
  EXPECT_EQ(components.root(0), components.root(1));
  EXPECT_NE(components.root(0), components.root(2));
  components.join(3, 0);
  EXPECT_EQ(components.count(), 4);
  EXPECT_EQ(components.size(1), 4);
  EXPECT_EQ(components.size(6), 1);
  EXPECT_EQ(Components(0).count(), 0);
}

}  // namespace
}  // namespace huddle
