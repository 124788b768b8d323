# SPDX-License-Identifier: MIT
# Registers Catch2 suites, models and benches with ctest: labels, time limits, environments.
include(Catch)

# Time limit of one test, in seconds.
set(CARIAMA_TIMEOUT_unit 60)
set(CARIAMA_TIMEOUT_contract 120)
set(CARIAMA_TIMEOUT_stress 300)
set(CARIAMA_TIMEOUT_model 1200)
set(CARIAMA_TIMEOUT_bench-smoke 120)
# Sanitizers slow tests down several times, and more on a machine that has other work.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  foreach(kind IN ITEMS unit contract stress)
    math(EXPR CARIAMA_TIMEOUT_${kind} "4 * ${CARIAMA_TIMEOUT_${kind}}")
  endforeach()
endif()

# cariama_contract_device(<name> ENVIRONMENT <VAR=value>... [LABELS <label>...] [ONLY <layer>...])
#
# From here on, every contract suite, or those of some layers, also runs with this environment, as
# "<layer>.contract.<name>".
function(cariama_contract_device name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ENVIRONMENT;LABELS;ONLY")
  set_property(GLOBAL APPEND PROPERTY CARIAMA_CONTRACT_DEVICES ${name})
  set_property(GLOBAL PROPERTY CARIAMA_CONTRACT_${name}_ENVIRONMENT "${arg_ENVIRONMENT}")
  set_property(GLOBAL PROPERTY CARIAMA_CONTRACT_${name}_LABELS "${arg_LABELS}")
  set_property(GLOBAL PROPERTY CARIAMA_CONTRACT_${name}_ONLY "${arg_ONLY}")
endfunction()

# cariama_register_suite(<target> <prefix> LABELS <label>... TIMEOUT <seconds>
#                        [ENVIRONMENT <VAR=value>...])
#
# Registers each test case of a Catch2 program as the ctest "<prefix>:<test case>". Lists survive
# catch_discover_tests() only in a file that ctest reads after the list of tests.
function(cariama_register_suite target prefix)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "LABELS;ENVIRONMENT")
  string(MAKE_C_IDENTIFIER "${prefix}_tests" list)
  # OUTPUT_SUFFIX has no effect without OUTPUT_DIR, except that it makes the file names of several
  # registrations of one program differ.
  # Beside other work the list takes its time.
  catch_discover_tests(${target} TEST_PREFIX "${prefix}:" TEST_LIST ${list}
    OUTPUT_SUFFIX "${prefix}" DISCOVERY_TIMEOUT 120)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${list}_properties.cmake")
  file(WRITE "${file}" "foreach(test IN LISTS ${list})
  set_tests_properties(\"\${test}\" PROPERTIES
    LABELS \"${arg_LABELS}\"
    ENVIRONMENT \"${arg_ENVIRONMENT}\"
    TIMEOUT ${arg_TIMEOUT}
    SKIP_REGULAR_EXPRESSION \"SKIPPED: \")
endforeach()
")
  if("stress" IN_LIST arg_LABELS)
    # One at a time, since each has threads for all cores; beside it a search or unit test may run.
    file(APPEND "${file}" "foreach(test IN LISTS ${list})
  set_tests_properties(\"\${test}\" PROPERTIES RESOURCE_LOCK stress COST 500)
endforeach()
")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

# Builds tests/<layer>/<kind>/**.cpp as the program <layer>_<kind> and registers its test cases.
function(cariama_test_suite layer kind)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${layer}/${kind}/*.cpp")
  if(NOT sources)
    return()
  endif()
  set(target ${layer}_${kind})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE cariama::${layer} test_support)
  if(NOT kind STREQUAL "contract")
    # These may look at what a layer keeps to itself: #include "verbs/endpoint_choice.hpp".
    get_target_property(home cariama::${layer} SOURCE_DIR)
    target_include_directories(${target} PRIVATE "${home}/src")
  endif()
  set(timeout ${CARIAMA_TIMEOUT_${kind}})
  if(NOT kind STREQUAL "contract")
    cariama_register_suite(${target} ${layer}.${kind} LABELS ${layer} ${kind} TIMEOUT ${timeout})
    return()
  endif()
  get_property(devices GLOBAL PROPERTY CARIAMA_CONTRACT_DEVICES)
  foreach(device IN LISTS devices)
    get_property(only GLOBAL PROPERTY CARIAMA_CONTRACT_${device}_ONLY)
    if(only AND NOT layer IN_LIST only)
      continue()
    endif()
    get_property(environment GLOBAL PROPERTY CARIAMA_CONTRACT_${device}_ENVIRONMENT)
    get_property(labels GLOBAL PROPERTY CARIAMA_CONTRACT_${device}_LABELS)
    cariama_register_suite(${target} ${layer}.contract.${device} LABELS ${layer} contract ${labels}
      ENVIRONMENT ${environment} TIMEOUT ${timeout})
  endforeach()
endfunction()

# Registers tests/<layer>/model/*.pml as the ctests model_<layer>_<name>.
function(cariama_test_models layer)
  file(GLOB models CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${layer}/model/*.pml")
  foreach(model IN LISTS models)
    cmake_path(GET model STEM name)
    set(test model_${layer}_${name})
    add_test(NAME ${test} COMMAND "${PROJECT_SOURCE_DIR}/scripts/spin-check" "${model}")
    # A search takes one core for up to a minute: begin with those.
    set_tests_properties(${test} PROPERTIES LABELS "${layer};model" SKIP_RETURN_CODE 77
      TIMEOUT ${CARIAMA_TIMEOUT_model} COST 1000)
  endforeach()
endfunction()

# Registers a check of the repository itself; exit code 77 is a visible skip.
function(cariama_repo_test name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "repo;unit" SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
