# SPDX-License-Identifier: MIT
# Compiler warnings for all code of this repository; nothing of it reaches users of the package.
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wpedantic -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: std::string operator+ is reported as an overlapping copy when optimised.
    add_compile_options(-Wno-restrict)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CARIAMA_UNITY)
    # It also reports a local name that another source of the same batch has in an anonymous
    # namespace.
    add_compile_options(-Wno-shadow)
  endif()
  if(CARIAMA_SYNTAX_ONLY)
    add_compile_options(-fsyntax-only)
  endif()
  if(CARIAMA_WERROR)
    add_compile_options(-Werror)
  endif()
endif()
