// SPDX-License-Identifier: MIT
// Bootstrap::all_to_all, where a bootstrap has no better way: everybody gets
// everything.
#include <string>

#include "bootstrap/frame.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {

std::vector<Bytes> Bootstrap::all_to_all(std::span<const Bytes> mine,
                                         std::chrono::milliseconds limit) {
  rendezvous::Writer all;
  for (const Bytes& part : mine) all.bytes(part);
  std::vector<Bytes> result;
  for (const Bytes& theirs : all_gather(all.take(), limit)) {
    rendezvous::Reader reader(theirs);
    auto part = reader.bytes();
    for (std::uint32_t i = 0; i < rank() && part; ++i) part = reader.bytes();
    if (!part) {
      throw dtutils::Error(name(), "a process gives nothing for this one",
                           "start all processes from programs of the same build");
    }
    result.emplace_back(part->begin(), part->end());
  }
  return result;
}

}  // namespace dsfabric
