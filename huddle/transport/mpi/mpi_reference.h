// MPI's own all-reduce over the members of a group, for comparisons: what a user of MPI would call.
// It is called beside the engine, so MPI must have been started for several threads.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace huddle {

// Starts MPI for threads that call it at the same time. False where the library does not offer
// that, or has been started otherwise.
bool begin_mpi_for_many_threads();

// One process's. Members are ranks of the job in ascending order, this one among them.
class MpiReference {
 public:
  MpiReference();
  ~MpiReference();
  MpiReference(const MpiReference&) = delete;
  MpiReference& operator=(const MpiReference&) = delete;

  // Sums in place. The communicator of each group is made when it is first used, and kept;
  void sum_prebuilt(const std::vector<int>& members, float* values, std::int64_t count);

  // or made for this sum, and freed.
  void sum_created(const std::vector<int>& members, float* values, std::int64_t count);

 private:
  class Communicator;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> prebuilt_;
};

}  // namespace huddle
