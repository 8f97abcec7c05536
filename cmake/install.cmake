# `cmake --install`: the library for find_package(Huddle), its headers, and the program with its scenarios and clusters.

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Huddle)
install(TARGETS huddle_library EXPORT HuddleTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT HuddleTargets NAMESPACE Huddle:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/HuddleConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/HuddleConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HuddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/HuddleConfig.cmake ${PROJECT_BINARY_DIR}/HuddleConfigVersion.cmake
        DESTINATION ${package})

# Headers keep their paths. What only Huddle's own bodies include stays at home, and third parties' headers with it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/huddle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h"
  PATTERN "cli" EXCLUDE
  PATTERN "local" EXCLUDE
  PATTERN "page" EXCLUDE
  REGEX "/report/(fields|json_kinds|record_fields)\\.h$" EXCLUDE
  REGEX "/compare/(report_check|result_fields)\\.h$" EXCLUDE
  REGEX "/process/(agreement|envelope|failure|goodbye|letters|post_office|report_reader|scheduler|sockets)\\.h$" EXCLUDE
  REGEX "/(mpi/mpi|ucx/ucx)_reference\\.h$" EXCLUDE
  REGEX "/sim/(platform|scheduler|link_watch)\\.h$" EXCLUDE
  REGEX "/threads/(scheduler|injected_links)\\.h$" EXCLUDE)

if(HUDDLE_WITH_PROGRAM)
  set_target_properties(huddle PROPERTIES INSTALL_RPATH "${HUDDLE_TORCH_DIR}/lib")
  install(TARGETS huddle RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/scenarios ${PROJECT_SOURCE_DIR}/clusters
          DESTINATION ${CMAKE_INSTALL_DATADIR}/huddle FILES_MATCHING PATTERN "*.toml")
endif()
