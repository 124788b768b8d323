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

# cariama_simulated(<name> OUTPUT <regex> [AS <suffix>] [NODES <n>] [ARGS <arg>...])
#
# ctest runs a program that has a cariama_main five times in a simulation of n nodes (4), with the
# same seed: it ends with exit code 0, prints what the expression says, and does so each time in the
# same way, to the digest (twice under the sanitizers). With other arguments it is another test, AS
# something.
function(cariama_simulated name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT;AS;NODES" "ARGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_OUTPUT)
    message(FATAL_ERROR "cariama_simulated(${name}): OUTPUT and nothing unknown is expected")
  endif()
  if(NOT CARIAMA_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_NODES)
    set(arg_NODES 4)
  endif()
  set(test app_${name}_simulated)
  if(arg_AS)
    string(APPEND test _${arg_AS})
  endif()
  add_test(NAME ${test}
    COMMAND "${PROJECT_SOURCE_DIR}/apps/simulate/repeats" 5 $<TARGET_FILE:simulate>
    --nodes ${arg_NODES} --seed 7 $<TARGET_FILE:${name}> ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES LABELS "apps;unit" TIMEOUT 300
    PASS_REGULAR_EXPRESSION "${arg_OUTPUT}.*repeats: [25] runs of 1 program, one digest of each")
endfunction()
