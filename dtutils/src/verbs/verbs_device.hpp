// SPDX-License-Identifier: MIT
// The Device that stands for a port of a libibverbs device.
#pragma once

#include <memory>
#include <string_view>

#include "dtutils/device.hpp"
#include "verbs/endpoint_choice.hpp"

namespace dtutils::verbs {

/// Owner of a context that ibv_open_device(3) opened.
struct CloseContext {
  void operator()(ibv_context* context) const noexcept { ::ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, CloseContext>;

/// Each method is one libibverbs call plus the sentence that explains its failure. Limits that the
/// device states are compared first, because most drivers answer a bare EINVAL.
class VerbsDevice final : public Device {
 public:
  /// Chooses the endpoint and finds the device's limits. Throws Error. Setup only.
  VerbsDevice(Context context, const DeviceOptions& options);

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

 private:
  void check_limits(const ibv_qp_init_attr& attributes) const;
  std::uint32_t find_max_inline();

  Context context_;
  ibv_device_attr limits_{};
};

/// Ports and GIDs of an open device. Throws Error when they cannot be read. Setup only.
std::vector<PortFacts> read_ports(ibv_context* context);

}  // namespace dtutils::verbs
