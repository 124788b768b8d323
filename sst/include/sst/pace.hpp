// SPDX-License-Identifier: MIT
// How a thread that evaluates in a loop treats its core between rounds that found nothing.
#pragma once

#include <cstdint>
#include <span>

#include "dsfabric/fabric.hpp"

namespace sst {

/// Spins as long as the machine has a core for each process that evaluates on it, so that nothing
/// stands between an update and its detection. On a machine with fewer cores it yields its
/// core almost at once: somebody else has to run before anything can change. After a long while of
/// nothing it sleeps for short times. Owner thread only.
class Pace {
 public:
  /// For one evaluating thread in each process of the job, or in each of those named. Newcomers
  /// that may come to an elastic job are taken to come to this machine.
  explicit Pace(const dsfabric::Fabric& fabric,
                std::span<const dsfabric::ProcessId> evaluating = {});

  /// After a round; `busy` when it found something.
  void after(bool busy) noexcept {
    if (busy) {
      idle_ = 0;
    } else if (++idle_ > spins_) {
      relax();
    }
  }

 private:
  void relax() noexcept;

  std::uint32_t spins_;
  std::uint32_t idle_ = 0;
};

}  // namespace sst
