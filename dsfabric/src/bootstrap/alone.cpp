// SPDX-License-Identifier: MIT
// The bootstrap of a process without a launcher: a job of one.
#include "bootstrap/bootstrap.hpp"

namespace dsfabric {
namespace {

class Alone final : public Bootstrap {
 public:
  std::uint32_t rank() const noexcept override { return 0; }
  std::uint32_t size() const noexcept override { return 1; }
  std::string name() const override { return "alone"; }
  std::vector<Bytes> all_gather(std::span<const std::byte> mine,
                                std::chrono::milliseconds) override {
    return {Bytes(mine.begin(), mine.end())};
  }
};

}  // namespace

std::unique_ptr<Bootstrap> make_alone() { return std::make_unique<Alone>(); }

}  // namespace dsfabric
