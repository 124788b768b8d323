// SPDX-License-Identifier: MIT
// The simulated adapter of a node: the interface dtutils::Device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dtutils/device.hpp"
#include "sim/queue_pair.hpp"
#include "sim/queues.hpp"
#include "sim/world.hpp"

namespace dtutils::sim {

/// What is registered under a key.
struct Region {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t access = 0;
  std::uint32_t pd = 0;
  /// 0: the entry is free.
  std::uint32_t key = 0;
  std::uint32_t generation = 0;
};

/// All of it belongs to the threads of one world, of which one runs at a time.
class SimDevice final : public Device {
 public:
  /// For the node of the calling thread, which is simulated. Throws Error.
  explicit SimDevice(World& world);
  ~SimDevice() override;

  ibv_pd* alloc_pd() override;
  void dealloc_pd(ibv_pd* pd) noexcept override;
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) override;
  void dereg_mr(ibv_mr* mr) noexcept override;
  ibv_comp_channel* create_comp_channel() override;
  void destroy_comp_channel(ibv_comp_channel* channel) noexcept override;
  ibv_cq* wait_event(ibv_comp_channel* channel, std::chrono::milliseconds timeout) override;
  ibv_cq* create_cq(int depth, ibv_comp_channel* channel) override;
  void destroy_cq(ibv_cq* cq) noexcept override;
  ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) override;
  void destroy_srq(ibv_srq* srq) noexcept override;
  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) override;
  void destroy_qp(ibv_qp* qp) noexcept override;
  void modify_qp(ibv_qp* qp, ibv_qp_attr& attributes, int mask) override;
  ibv_qp_state qp_state(ibv_qp* qp) noexcept override;
  bool data_in_order(ibv_qp* qp, ibv_wr_opcode opcode) noexcept override;

  World& world() noexcept { return world_; }
  Node& node() noexcept { return node_; }
  std::uint32_t number() const noexcept { return number_; }
  /// The device that has the GID; a number that no device has, for others.
  static std::uint32_t number_of(const ibv_gid& gid) noexcept;
  /// The queue pair of that number; nullptr when there is none.
  QueuePair* find(std::uint32_t qp_num) noexcept;
  /// Where the range lies, if it is in a region of this key that grants one of these rights to the
  /// protection domain; `local`: the key is an lkey.
  bool grants(std::uint32_t key, bool local, std::uint64_t address, std::uint64_t length,
              std::uint32_t access, std::uint32_t pd) const noexcept;

 private:
  static void let_go(ibv_comp_channel* channel) noexcept;
  static void let_go(ibv_cq* cq) noexcept;
  static void let_go(ibv_srq* srq) noexcept;

  World& world_;
  Node& node_;
  const std::uint32_t number_;
  ibv_device verbs_device_{};
  ibv_context context_{};
  std::uint32_t next_pd_ = 0;
  std::vector<Region> regions_;
  std::vector<std::uint32_t> free_regions_;
  /// By number, from 1.
  std::vector<QueuePair*> pairs_;
};

/// Fills in `ops` so that the inline functions of <infiniband/verbs.h> arrive at the queues.
void set_operations(ibv_context& context) noexcept;

}  // namespace dtutils::sim
