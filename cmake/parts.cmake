# huddle_by_rooms(TARGET [AT_ONCE]): the sources of one folder are compiled as one, because most of the time goes into
# headers that all of them include; AT_ONCE: those of all its folders. The preset tidy compiles each file by itself, so
# that none lives off another's includes.
function(huddle_by_rooms target)
  if(NOT HUDDLE_BY_ROOMS)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if("AT_ONCE" IN_LIST ARGN)
      set(room "")
    else()
      cmake_path(GET source PARENT_PATH room)
    endif()
    string(MAKE_C_IDENTIFIER "room_${room}" room)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# huddle_part(NAME [HOT] [AT_ONCE] SOURCES … TESTS … LINK … LABELS …): one folder of the design as a static library
# huddle_NAME, and its unit tests, which stand beside the code, as the program NAME_test. HOT: it has loops over whole
# models, which -O3 makes vector instructions of, or writes something at every step; elsewhere that would only take
# longer to compile. AT_ONCE: of the tests, see above.
function(huddle_part name)
  cmake_parse_arguments(PART "HOT" "" "SOURCES;TESTS;LINK;LABELS" ${ARGN})
  add_library(huddle_${name} STATIC ${PART_SOURCES})
  if(PART_HOT)
    target_compile_options(huddle_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  target_link_libraries(huddle_${name} PUBLIC huddle_settings ${PART_LINK})
  huddle_by_rooms(huddle_${name})
  set_property(GLOBAL APPEND PROPERTY HUDDLE_PARTS huddle_${name})
  if(PART_TESTS)
    huddle_test(${name}_test ${PART_UNPARSED_ARGUMENTS}
      SOURCES ${PART_TESTS} LINK huddle_${name} LABELS ${PART_LABELS})
  endif()
endfunction()

# huddle_test(NAME [AT_ONCE] SOURCES … LINK … LABELS …): a GoogleTest program that `ctest` runs. Labels: `engine`
# (threads meet in it: `make check` runs it under ThreadSanitizer too) and `slow` (left to `make check`). Target
# LABEL_tests builds all tests of a label.
function(huddle_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT HUDDLE_WITH_TESTS)
    return()
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE huddle_settings ${TEST_LINK} GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1)  # What is tested is optimised; the tests should be there soon.
  huddle_by_rooms(${name} ${TEST_UNPARSED_ARGUMENTS})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "${HUDDLE_TEST_ENVIRONMENT}" LABELS "${TEST_LABELS}")
  foreach(label IN LISTS TEST_LABELS)
    if(NOT TARGET ${label}_tests)
      add_custom_target(${label}_tests)
    endif()
    add_dependencies(${label}_tests ${name})
  endforeach()
endfunction()
