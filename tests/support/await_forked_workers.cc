// Linked with tests of GoogleTest whose workers are forked (forked_workers.h): a test fails where
// the process of another worker does, which has the same test to judge.

#include <gtest/gtest.h>

#include "tests/support/forked_workers.h"

namespace huddle {
namespace {

class OtherWorkers final : public testing::Environment {
 public:
  void TearDown() override {
    for (const std::string& complaint : await_forked_workers()) ADD_FAILURE() << complaint;
  }
};

const testing::Environment* const kOtherWorkers =
    testing::AddGlobalTestEnvironment(new OtherWorkers);

}  // namespace
}  // namespace huddle
