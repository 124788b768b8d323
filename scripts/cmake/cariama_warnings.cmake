# SPDX-License-Identifier: MIT
# Compiler warnings for all code of this repository; nothing of it reaches users of the package.
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wpedantic -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: std::string operator+ is reported as an overlapping copy when optimised.
    add_compile_options(-Wno-restrict)
  endif()
  if(CARIAMA_WERROR)
    add_compile_options(-Werror)
  endif()
endif()
