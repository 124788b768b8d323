// SPDX-License-Identifier: MIT
// A device without a data path that keeps a list of what is registered: for tests of allocators.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dtutils/device.hpp"
#include "dtutils/error.hpp"

namespace support {

class FakeDevice final : public dtutils::Device {
 public:
  struct Region {
    const std::byte* begin;
    std::size_t size;
    std::uint32_t lkey;
    std::uint32_t rkey;
    int access;
  };

  /// What is registered now.
  std::vector<Region> regions() const {
    const std::lock_guard lock(mutex_);
    std::vector<Region> regions;
    for (const auto& mr : registered_) regions.push_back(mr->region);
    return regions;
  }
  /// Registrations above this many bytes fail, as with a small memlock limit.
  void limit_registrations(std::size_t bytes) { largest_ = bytes; }

  ibv_pd* alloc_pd() override { return &pd_; }
  void dealloc_pd(ibv_pd* /*pd*/) noexcept override {}

  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) override {
    if (length > largest_) {
      throw dtutils::Error("fake device", "too much to register", "register less", ENOMEM);
    }
    const std::lock_guard lock(mutex_);
    const std::uint32_t key = next_key_ += 2;
    auto& mr = registered_.emplace_back(std::make_unique<Registration>());
    mr->mr = {nullptr, pd, address, length, 0, key, key + 1};
    mr->region = {static_cast<const std::byte*>(address), length, key, key + 1, access};
    return &mr->mr;
  }
  void dereg_mr(ibv_mr* mr) noexcept override {
    const std::lock_guard lock(mutex_);
    std::erase_if(registered_, [&](const auto& other) { return &other->mr == mr; });
  }

  ibv_comp_channel* create_comp_channel() override { no_data_path(); }
  void destroy_comp_channel(ibv_comp_channel* /*channel*/) noexcept override {}
  ibv_cq* wait_event(ibv_comp_channel* /*channel*/,
                     std::chrono::milliseconds /*timeout*/) override {
    no_data_path();
  }
  ibv_cq* create_cq(int /*depth*/, ibv_comp_channel* /*channel*/) override { no_data_path(); }
  void destroy_cq(ibv_cq* /*cq*/) noexcept override {}
  ibv_srq* create_srq(ibv_pd* /*pd*/, ibv_srq_init_attr& /*attributes*/) override {
    no_data_path();
  }
  void destroy_srq(ibv_srq* /*srq*/) noexcept override {}
  ibv_qp* create_qp(ibv_pd* /*pd*/, ibv_qp_init_attr& /*attributes*/) override { no_data_path(); }
  void destroy_qp(ibv_qp* /*qp*/) noexcept override {}
  void modify_qp(ibv_qp* /*qp*/, ibv_qp_attr& /*attributes*/, int /*mask*/) override {
    no_data_path();
  }
  ibv_qp_state qp_state(ibv_qp* /*qp*/) noexcept override { return IBV_QPS_ERR; }
  bool data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*opcode*/) noexcept override { return false; }

 private:
  struct Registration {
    ibv_mr mr{};
    Region region{};
  };

  [[noreturn]] static void no_data_path() {
    throw dtutils::Error("fake device", "it has no data path", "use a real one");
  }

  ibv_pd pd_{};
  std::size_t largest_ = static_cast<std::size_t>(-1);
  mutable std::mutex mutex_;
  std::uint32_t next_key_ = 100;
  std::vector<std::unique_ptr<Registration>> registered_;
};

}  // namespace support
