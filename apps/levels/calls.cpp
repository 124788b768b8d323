// SPDX-License-Identifier: MIT
// The job of two processes that meet over the wire, and the one that is called.
#include "calls.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "riutils/riutils.hpp"

namespace levels {
namespace {

class WireBootstrap final : public dsfabric::Bootstrap {
 public:
  WireBootstrap(Wire& wire, std::uint32_t rank) : wire_(wire), rank_(rank) {}
  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return 2; }
  std::string name() const override { return "a socket pair"; }
  std::vector<dsfabric::Bytes> all_gather(std::span<const std::byte> mine,
                                          std::chrono::milliseconds) override {
    // In pieces, so that neither side waits for the other to take what it has sent.
    using Piece = std::array<std::byte, 4096>;
    const std::uint64_t theirs = wire_.exchange(std::uint64_t{mine.size()});
    std::vector<dsfabric::Bytes> all(2);
    all[rank_].assign(mine.begin(), mine.end());
    dsfabric::Bytes& other = all[1 - rank_];
    for (std::size_t at = 0; at < std::max<std::size_t>(mine.size(), theirs); at += sizeof(Piece)) {
      Piece piece{};
      if (at < mine.size()) {
        std::ranges::copy(mine.subspan(at, std::min(sizeof piece, mine.size() - at)),
                          piece.begin());
      }
      piece = wire_.exchange(piece);
      other.insert(other.end(), piece.begin(), piece.end());
    }
    other.resize(theirs);
    return all;
  }

 private:
  Wire& wire_;
  std::uint32_t rank_;
};

}  // namespace

dsfabric::Fabric join(const Job& job, Wire& wire, std::uint32_t rank) {
  dsfabric::Config config;
  config.device = job.device;
  config.threads = 1;
  config.pin = false;
  return dsfabric::join(std::make_unique<WireBootstrap>(wire, rank), config);
}

std::array<std::uint64_t, kSlots>& slots() {
  static std::array<std::uint64_t, kSlots> here{};
  return here;
}

bool receive_calls(const Job& job, Wire& wire) {
  dsfabric::Fabric fabric = join(job, wire, 1);
  fabric.run([](dsfabric::Thread& self) {
    const riutils::RDMAMessengerGlobal ready(self);  // to be called through rings too
    self.barrier();                                  // serves until the other one is done
  });
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    if (slots()[slot] != expected(slot, job.count)) return false;
  }
  return true;
}

}  // namespace levels
