// UCX barely: what its messages take without an engine, for comparisons.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace huddle {

// One process's (or thread's), connected to all others. It has connections of its own, which report
// failures as those of the engine do, since UCX moves memory in other ways without.
class UcxReference {
 public:
  // `exchange`: given this worker's address, returns all workers', by worker.
  UcxReference(int self,
               const std::function<std::vector<std::string>(const std::string&)>& exchange);
  ~UcxReference();
  UcxReference(const UcxReference&) = delete;
  UcxReference& operator=(const UcxReference&) = delete;

  // As many messages and bytes as an average by a ring has, from member to member, and nothing
  // done with them: two members exchange all once, n send 2(n-1) parts of 1/n. REQUIRES: all
  // members call it with as many bytes, this worker among them. Waits without a deadline.
  void pass_around(const std::vector<int>& members, void* values, std::size_t bytes);

 private:
  class Connections;
  const std::unique_ptr<Connections> connections_;
  const int self_;
  std::vector<std::byte> scratch_;
};

}  // namespace huddle
