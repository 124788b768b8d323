// SPDX-License-Identifier: MIT
// What a home knows of a request when it repairs a lock.
#pragma once

#include "locks/detail/place.hpp"

namespace locks::detail {

/// A request of a living process, as its place says. The repair changes `place`.
struct Report {
  PlaceNumber number;
  Place* place;
};

}  // namespace locks::detail
