// SPDX-License-Identifier: MIT
// The sentence of the Error that a call must throw.
#pragma once

#include <string>

#include "dtutils/error.hpp"

namespace support {

/// What the Error says that `call` throws; "(no error)" when it throws none.
template <class Call>
std::string error_text(Call&& call) {
  try {
    call();
  } catch (const dtutils::Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace support
