// SPDX-License-Identifier: MIT
// The coded times of a reliable connection (InfiniBand Architecture 9.7.5.2.8 and 9.7.6.1.3).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace dtutils::software {

/// ibv_qp_attr::min_rnr_timer in microseconds.
constexpr std::uint32_t rnr_timer_microseconds(std::uint8_t code) noexcept {
  constexpr std::array<std::uint32_t, 32> kTable{
      655'360, 10,     20,     30,     40,     60,      80,      120,     160,     240,    320,
      480,     640,    960,    1'280,  1'920,  2'560,   3'840,   5'120,   7'680,   10'240, 15'360,
      20'480,  30'720, 40'960, 61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};
  return kTable[code & 31];
}

/// How long a request goes on trying to reach a peer that does not answer.
constexpr std::chrono::microseconds retry_time(std::uint8_t timeout,
                                               std::uint8_t retries) noexcept {
  const std::uint64_t once = (std::uint64_t{4096} << (timeout & 31)) / 1000;
  return std::chrono::microseconds(once * (std::uint64_t{retries} + 1));
}

}  // namespace dtutils::software
