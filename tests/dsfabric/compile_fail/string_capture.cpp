// SPDX-License-Identifier: MIT
// Wrong on purpose: the string's bytes stay behind.
#include <string>

#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus greet(dsfabric::SendChannel& calls, dsfabric::ThreadId to,
                           const std::string& name) {
  return calls.call(to, [name] { return name.size(); });
}
// expected: may capture only plain data
