// SPDX-License-Identifier: MIT
// What calls leave behind in the process where they run.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/per_process.hpp"

namespace support {

struct Ledger {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::uint64_t> wrong{0};
  /// Exceptions of calls.
  std::atomic<std::uint64_t> thrown{0};
};
inline Ledger& ledger() {
  static PerProcess<Ledger> own;
  return *own;
}

}  // namespace support
