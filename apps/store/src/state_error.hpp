// SPDX-License-Identifier: MIT
// What is said of a state that no store of this version has made.
#pragma once

#include "dtutils/error.hpp"

namespace store {

[[noreturn]] inline void refuse_state() {
  throw dtutils::Error("the state of a store", "it is damaged or of another version",
                       "start the same program everywhere");
}

}  // namespace store
