// SPDX-License-Identifier: MIT
// What happens when the library is loaded.
#include "fork.hpp"
#include "holders.hpp"
#include "process.hpp"
#include "real.hpp"

namespace {

[[gnu::constructor]] void begin() {
  preload::real();
  preload::is_this_process();
  preload::prepare_holders();
  preload::take_part_in_forks();
}

}  // namespace
