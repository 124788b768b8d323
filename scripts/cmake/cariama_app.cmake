# SPDX-License-Identifier: MIT
# cariama_app(): one program under apps/.

# cariama_app(<name> LAYERS <layer>... [SOURCES <file>...] [LIBS <target>...] [TEST_ARGS <arg>...])
#
# Makes build/<preset>/apps/<folder>/<name> from SOURCES (every .cpp of the calling folder if none
# are named). With TEST_ARGS, ctest runs it with these arguments and expects exit code 0.
function(cariama_app name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LAYERS;SOURCES;LIBS;TEST_ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cariama_app(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  endif()
  add_executable(${name} ${arg_SOURCES})
  list(TRANSFORM arg_LAYERS PREPEND cariama::)
  target_link_libraries(${name} PRIVATE ${arg_LAYERS} ${arg_LIBS})
  if(CARIAMA_BUILD_TESTS AND arg_TEST_ARGS)
    add_test(NAME app_${name} COMMAND ${name} ${arg_TEST_ARGS})
    set_tests_properties(app_${name} PROPERTIES LABELS "apps;unit" TIMEOUT 60)
  endif()
endfunction()
