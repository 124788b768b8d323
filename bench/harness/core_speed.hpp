// SPDX-License-Identifier: MIT
// How fast a core computes: less while another machine computes on its second hardware thread.
#pragma once

namespace bench {

/// A virtual machine cannot see who shares its cores, except by how much they get done: additions
/// that do not wait for each other are half as fast while a neighbour is at work, and neither the
/// round trip of a cache line nor the time a thread waits for its core tells. Owner thread only.
class CoreSpeed {
 public:
  /// Additions a nanosecond now, as a share of the most that this object has seen: the median of
  /// kCoreSpeedChunks short loops, some 0.1 ms in all.
  double measure();

 private:
  double best_ = 0;
};

}  // namespace bench
