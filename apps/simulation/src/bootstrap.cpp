// SPDX-License-Identifier: MIT
// Board: who has come, and what they gave.
#include "bootstrap.hpp"

#include <fmt/format.h>

#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace simulation {

std::vector<dsfabric::Bytes> Board::exchange(std::uint32_t rank, std::vector<dsfabric::Bytes> parts,
                                             std::chrono::milliseconds limit) {
  const std::uint64_t number = ++came_[rank];
  given_[rank].parts[number % 2] = std::move(parts);
  dtutils::Deadline deadline(limit);
  std::vector<dsfabric::Bytes> all;
  for (std::uint32_t other = 0; other < nodes(); ++other) {
    dtutils::Backoff backoff;
    while (came_[other] < number) {
      if (deadline.passed()) {
        throw dtutils::Error("simulation", fmt::format("node {} has not come in time", other),
                             "look what it does: it may have crashed");
      }
      backoff.pause();
    }
    const std::vector<dsfabric::Bytes>& theirs = given_[other].parts[number % 2];
    all.push_back(theirs.size() == 1 ? theirs.front() : theirs.at(rank));
  }
  return all;
}

}  // namespace simulation
