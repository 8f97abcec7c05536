# Finds libtorch, as target huddle_torch: inside the Python package `torch` of HUDDLE_PYTHON, which by default is the
# one in .venv where `make` has set it up, or else as find_package(Torch) does, by Torch_DIR or CMAKE_PREFIX_PATH.
#
# The package's own TorchConfig.cmake insists on a CUDA compiler when torch was built with CUDA. Huddle is plain C++, so
# from Python it links the shared libraries directly and builds the same way on a laptop and on a GPU machine.

if(NOT HUDDLE_PYTHON AND PROJECT_IS_TOP_LEVEL AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(HUDDLE_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()

add_library(huddle_torch INTERFACE)
add_library(huddle::torch ALIAS huddle_torch)
if(HUDDLE_PYTHON)
  execute_process(
    COMMAND ${HUDDLE_PYTHON} -c
            "import os, torch
print(os.path.dirname(torch.__file__), torch.__version__, int(torch._C._GLIBCXX_USE_CXX11_ABI), sep=';')"
    OUTPUT_VARIABLE torch_facts
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE torch_status)
  if(NOT torch_status EQUAL 0)
    message(FATAL_ERROR "${HUDDLE_PYTHON} cannot import torch: install it there with `pip install torch==2.13.0`, "
                        "or run `make build` without PYTHON")
  endif()
  list(GET torch_facts 0 HUDDLE_TORCH_DIR)
  list(GET torch_facts 1 HUDDLE_TORCH_VERSION)
  list(GET torch_facts 2 torch_cxx11_abi)
  target_include_directories(huddle_torch SYSTEM INTERFACE "${HUDDLE_TORCH_DIR}/include"
                                                           "${HUDDLE_TORCH_DIR}/include/torch/csrc/api/include")
  target_compile_definitions(huddle_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=${torch_cxx11_abi})
  target_link_libraries(huddle_torch INTERFACE "${HUDDLE_TORCH_DIR}/lib/libtorch_cpu.so"
                                               "${HUDDLE_TORCH_DIR}/lib/libc10.so")
else()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # The project around this one links them too.
  find_package(Torch QUIET)
  unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "torch was not found: pass -DCMAKE_PREFIX_PATH=`python -c 'import torch; "
                        "print(torch.utils.cmake_prefix_path)'`, or -DHUDDLE_PYTHON=/a/python/that/has/torch, "
                        "or run `make build`, which sets one up")
  endif()
  set(HUDDLE_TORCH_DIR "${TORCH_INSTALL_PREFIX}")
  set(HUDDLE_TORCH_VERSION "${Torch_VERSION}")
  target_link_libraries(huddle_torch INTERFACE ${TORCH_LIBRARIES})
  find_package(Python3 QUIET COMPONENTS Interpreter)  # Puts the page of reports together.
  set(HUDDLE_PYTHON "${Python3_EXECUTABLE}")
endif()
