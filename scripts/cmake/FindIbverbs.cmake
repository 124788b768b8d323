# SPDX-License-Identifier: MIT
# Finds libibverbs (Debian: libibverbs-dev) as the imported target Ibverbs::Ibverbs.
find_path(Ibverbs_INCLUDE_DIR infiniband/verbs.h)
find_library(Ibverbs_LIBRARY ibverbs)
mark_as_advanced(Ibverbs_INCLUDE_DIR Ibverbs_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ibverbs REQUIRED_VARS Ibverbs_LIBRARY Ibverbs_INCLUDE_DIR)

if(Ibverbs_FOUND AND NOT TARGET Ibverbs::Ibverbs)
  add_library(Ibverbs::Ibverbs UNKNOWN IMPORTED)
  set_target_properties(Ibverbs::Ibverbs PROPERTIES
    IMPORTED_LOCATION "${Ibverbs_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Ibverbs_INCLUDE_DIR}")
endif()
