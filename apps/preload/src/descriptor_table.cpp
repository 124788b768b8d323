// SPDX-License-Identifier: MIT
// The one table of the process.
#include "descriptor_table.hpp"

namespace preload {

DescriptorTable& table() noexcept {
  static constinit DescriptorTable instance;
  return instance;
}

}  // namespace preload
