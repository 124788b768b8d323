// SPDX-License-Identifier: MIT
// wait_for_termination: that of the fabric, which the RingRegistry counts for.
#include "riutils/termination.hpp"

#include "dsfabric/termination.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {

void wait_for_termination(dsfabric::Thread& self) {
  (void)RingSet::of(self);
  dsfabric::wait_for_termination(self);
}

}  // namespace riutils
