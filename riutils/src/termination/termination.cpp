// SPDX-License-Identifier: MIT
// wait_for_termination: that of the fabric, which Stations count for.
#include "riutils/termination.hpp"

#include "dsfabric/termination.hpp"
#include "riutils/station.hpp"

namespace riutils {

void wait_for_termination(dsfabric::Thread& self) {
  (void)Station::of(self);
  dsfabric::wait_for_termination(self);
}

}  // namespace riutils
