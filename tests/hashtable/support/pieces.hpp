// SPDX-License-Identifier: MIT
// Tables whose entries lie in pieces, and the ways that tests of them go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"

namespace support {

using Texts = hashtable::HashTable<std::string, std::string>;
using Lists = hashtable::HashTable<std::string, std::vector<std::uint64_t>>;

/// Both ways that changes go, and keys that share their pieces or do not.
template <class Work>
void in_every_way(Work work) {
  for (const hashtable::Mode mode : {hashtable::Mode::kOneSided, hashtable::Mode::kByCall}) {
    for (const bool collide : {false, true}) {
      CAPTURE(static_cast<int>(mode), collide);
      in_every_mode({.processes = 2, .threads = 1},
                    [=](dsfabric::Thread& self) { work(self, mode, collide); });
    }
  }
}

}  // namespace support
