# HUDDLE_TIDY: what the preset tidy adds. These warnings are about taste and likely mistakes more than about
# correctness, and compilers differ in them, so users' builds do without. clang-tidy is not used: the one of Debian 12
# (version 14) cannot parse C++20's captured structured bindings.

if(HUDDLE_TIDY)
  target_compile_options(
    huddle_settings
    INTERFACE -Wnon-virtual-dtor
              -Woverloaded-virtual
              -Wextra-semi
              -Wold-style-cast
              -Wcast-qual
              -Wunused-macros
              -Wredundant-decls
              -Wzero-as-null-pointer-constant)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(
      huddle_settings
      INTERFACE -Wsuggest-override
                -Wduplicated-cond
                -Wduplicated-branches
                -Wlogical-op
                -Wmismatched-tags)
  endif()
endif()
