// SPDX-License-Identifier: MIT
// Includes Catch2, whichever of its major versions 2 and 3 is installed.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
