// SPDX-License-Identifier: MIT
// Which of its sites a proxy is for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace proxy {

/// Who decides which site the proxy is for. It serves all of them, whatever is decided: whoever
/// spreads the requests of a site sends them to the proxies that are for it. Owner thread only.
class Placement {
 public:
  virtual ~Placement() = default;
  /// Once in a while: `busy` clients have asked for something since the last time, or still wait,
  /// and the store has so many bytes. The number of the site.
  virtual std::size_t turn(std::uint64_t busy, std::uint64_t bytes) = 0;
};

}  // namespace proxy
