// SPDX-License-Identifier: MIT
// Wrong on purpose: the callable takes other arguments than it is given.
#include <string>

#include "dsfabric/dsfabric.hpp"

dsfabric::CallStatus send(dsfabric::SendChannel& calls, dsfabric::ThreadId to) {
  return calls.call(
      to, [](int, const std::string&) {}, "first", 2);
}
// expected: a remote callable with arguments is called as
