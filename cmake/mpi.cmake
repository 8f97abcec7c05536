# MPI, which the engine `mpi` runs on: the target MPI::MPI_C. Optional: without it everything else is built.

if(HUDDLE_WITH_MPI)
  enable_language(C)
  find_package(MPI QUIET COMPONENTS C)
  if(NOT MPI_C_FOUND)
    set(HUDDLE_WITH_MPI OFF)
    list(APPEND left_out "engine mpi (MPI is missing: libopenmpi-dev)")
  endif()
else()
  list(APPEND left_out "engine mpi (HUDDLE_WITH_MPI is OFF)")
endif()
