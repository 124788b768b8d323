// SPDX-License-Identifier: MIT
// Two nodes of a simulation that are connected with each other.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "dtutils/dtutils.hpp"
#include "dtutils/simulation.hpp"
#include "support/side.hpp"

namespace support {

/// Sides of nodes that know each other's endpoints: what a bootstrap does.
struct Board {
  std::array<std::optional<dtutils::Endpoint>, 2> endpoints;
  std::array<dtutils::RemoteMemoryLocator, 2> memory;
  unsigned ready = 0;
  unsigned done = 0;
};

/// An end of a connection between nodes 0 and 1.
class End {
 public:
  explicit End(Board& board, const SideOptions& options = {})
      : device(dtutils::open_device()),
        side(*device, options),
        number_(dtutils::Simulation::current()->node()),
        board_(board) {
    board.endpoints[number_] = side.qp.endpoint();
    board.memory[number_] = side.region.remote();
    dtutils::Backoff backoff;
    while (!board.endpoints[1 - number_]) backoff.pause();
    side.qp.connect(*board.endpoints[1 - number_]);
    ++board.ready;
    while (board.ready < 2) backoff.pause();
  }
  dtutils::RemoteMemoryLocator there(std::size_t offset, std::size_t length) const {
    return board_.memory[1 - number_].part(offset, length);
  }

  const std::unique_ptr<dtutils::Device> device;
  Side side;

 private:
  const unsigned number_;
  Board& board_;
};

/// An end that does nothing, as long as the other one needs it.
inline void stay(Board& board) {
  const End end(board);
  dtutils::sleep_for(std::chrono::seconds(1));
}

/// The completion of a request that is the only one.
inline ibv_wc_status completion(Side& side) {
  ibv_wc work{};
  dtutils::Backoff backoff;
  while (side.sends.poll({&work, 1}) == 0) backoff.pause();
  return work.status;
}

}  // namespace support
