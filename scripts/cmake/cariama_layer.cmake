# SPDX-License-Identifier: MIT
# cariama_layer(): one layer or service as library, installed headers and package component.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(CARIAMA_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/cariama")
set(CARIAMA_TEMPLATE_DIR "${CMAKE_CURRENT_LIST_DIR}")

# cariama_layer(<name> [DEPENDS <layer>...] [PACKAGES "<find_package arguments>"...]
#               [LIBS <target>...] [PKG_CONFIG <package>...] [PKG_CONFIG_LIBS <flag>...])
#
# Makes the target cariama::<name> from src/**.cpp and include/<name>/**.hpp of the calling folder.
#   DEPENDS   lower layers, linked PUBLIC; naming one that does not stand before it is an error
#   PACKAGES  outside packages, each one string of find_package() arguments: found here, and found
#             again by users of the installed package
#   LIBS      targets of those packages, linked PUBLIC
#   PKG_CONFIG, PKG_CONFIG_LIBS   the same for pkg-config: packages that it knows, flags for others
# A layer without sources is header-only.
function(cariama_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;PACKAGES;LIBS;PKG_CONFIG;PKG_CONFIG_LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cariama_layer(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/${name}/*.hpp")

  foreach(package IN LISTS arg_PACKAGES)
    separate_arguments(package)
    find_package(${package} REQUIRED)
  endforeach()

  if(sources)
    set(scope PUBLIC)
    add_library(${name} ${sources})
    target_include_directories(${name} PRIVATE src)
    # Before 1.0 a new minor version may change everything.
    set_target_properties(${name} PROPERTIES OUTPUT_NAME cariama_${name}
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  else()
    set(scope INTERFACE)
    add_library(${name} INTERFACE)
  endif()
  add_library(cariama::${name} ALIAS ${name})
  target_compile_features(${name} ${scope} cxx_std_20)
  target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  foreach(lower IN LISTS arg_DEPENDS)
    if(NOT TARGET cariama::${lower})
      message(FATAL_ERROR "layer ${name} depends on ${lower}, which is not a layer below it")
    endif()
    target_link_libraries(${name} ${scope} cariama::${lower})
  endforeach()
  target_link_libraries(${name} ${scope} ${arg_LIBS})

  cariama_pkg_config(${name} "${arg_DEPENDS}" "${arg_PKG_CONFIG}" "${arg_PKG_CONFIG_LIBS}")
  install(TARGETS ${name} EXPORT cariama-${name}-targets FILE_SET HEADERS)
  install(EXPORT cariama-${name}-targets NAMESPACE cariama:: DESTINATION "${CARIAMA_PACKAGE_DIR}")
  set(needs "set(_cariama_below_${name} ${arg_DEPENDS})\n")
  string(APPEND needs "set(_cariama_packages_${name} \"${arg_PACKAGES}\")\n")
  set_property(GLOBAL PROPERTY CARIAMA_NEEDS_${name} "${needs}")
  set_property(GLOBAL APPEND PROPERTY CARIAMA_LAYERS ${name})
endfunction()

# Installs cariama-<name>.pc.
function(cariama_pkg_config name depends packages libs)
  list(TRANSFORM depends PREPEND cariama-)
  list(JOIN depends " " requires)
  list(JOIN packages " " packages)
  string(STRIP "${requires} ${packages}" requires)
  list(JOIN libs " " libs)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
    OUTPUT_VARIABLE libdir)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE prefix)
  configure_file("${CARIAMA_TEMPLATE_DIR}/cariama.pc.in"
    "${PROJECT_BINARY_DIR}/package/cariama-${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/cariama-${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# Installs the package files for every layer made so far.
function(cariama_install_package)
  get_property(layers GLOBAL PROPERTY CARIAMA_LAYERS)
  set(needs)
  foreach(layer IN LISTS layers)
    get_property(layer_needs GLOBAL PROPERTY CARIAMA_NEEDS_${layer})
    string(APPEND needs "${layer_needs}")
  endforeach()
  set(package "${PROJECT_BINARY_DIR}/package")
  configure_package_config_file("${CARIAMA_TEMPLATE_DIR}/cariama-config.cmake.in"
    "${package}/cariama-config.cmake" INSTALL_DESTINATION "${CARIAMA_PACKAGE_DIR}"
    NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file("${package}/cariama-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
  file(GLOB find_modules "${CARIAMA_TEMPLATE_DIR}/Find*.cmake")
  install(FILES "${package}/cariama-config.cmake" "${package}/cariama-config-version.cmake"
    ${find_modules} DESTINATION "${CARIAMA_PACKAGE_DIR}")
  # As they lie in the repository, so that they find each other: the documents, and the programs
  # that they explain.
  file(GLOB documents CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
    "${PROJECT_SOURCE_DIR}/*.md" "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/*/*.md"
    "${PROJECT_SOURCE_DIR}/bench/*/*.md" "${PROJECT_SOURCE_DIR}/apps/*/*.md"
    "${PROJECT_SOURCE_DIR}/apps/*/*.cpp" "${PROJECT_SOURCE_DIR}/apps/*/tutorial/*.cpp")
  list(FILTER documents EXCLUDE REGEX "^apps/run/")
  foreach(document IN LISTS documents)
    cmake_path(GET document PARENT_PATH folder)
    install(FILES "${PROJECT_SOURCE_DIR}/${document}"
      DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
  endforeach()
endfunction()
