// SPDX-License-Identifier: MIT
// A variant of a case that measures nothing.
#pragma once

#include "bench/harness/case.hpp"

namespace support {

inline bench::Variant variant(const char* name, const char* bar = "") {
  return {.name = name, .measure = [](bench::Batch&) { return 1.0; }, .bar = bar};
}

}  // namespace support
