#include "huddle/transport/mpi/mpi_reference.h"

#include <mpi.h>

#include <cstdlib>

#include "huddle/base/error.h"

namespace huddle {

bool begin_mpi_for_many_threads() {
  int has_begun = 0;
  int offered = 0;
  MPI_Initialized(&has_begun);
  if (has_begun != 0) {
    MPI_Query_thread(&offered);
    return offered >= MPI_THREAD_MULTIPLE;
  }
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &offered);
  std::atexit([] { MPI_Finalize(); });
  return offered >= MPI_THREAD_MULTIPLE;
}

class MpiReference::Communicator {
 public:
  // Of its members alone: nobody else takes part in making it.
  explicit Communicator(const std::vector<int>& members) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, members.front(), &communicator_);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
  }
  ~Communicator() { MPI_Comm_free(&communicator_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void sum(float* values, std::int64_t count) {
    const int error = MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_FLOAT,
                                    MPI_SUM, communicator_);
    if (error != MPI_SUCCESS) throw TransportError("MPI_Allreduce failed");
  }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

MpiReference::MpiReference() = default;
MpiReference::~MpiReference() = default;

void MpiReference::sum_prebuilt(const std::vector<int>& members, float* values,
                                std::int64_t count) {
  std::unique_ptr<Communicator>& kept = prebuilt_[members];
  if (!kept) kept = std::make_unique<Communicator>(members);
  kept->sum(values, count);
}

void MpiReference::sum_created(const std::vector<int>& members, float* values, std::int64_t count) {
  Communicator(members).sum(values, count);
}

}  // namespace huddle
