// SPDX-License-Identifier: MIT
// Steps through the states of a queue pair.
#include "support/queue_pair_states.hpp"

#include <algorithm>
#include <cstring>

namespace support {

void to_init(dtutils::Device& device, ibv_qp* qp, int access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device.info().port;
  attributes.qp_access_flags = static_cast<unsigned>(access);
  device.modify_qp(qp, attributes,
                   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

void to_ready_to_receive(dtutils::Device& device, ibv_qp* qp, const dtutils::Endpoint& peer) {
  const dtutils::DeviceInfo& own = device.info();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = std::min(own.mtu, static_cast<ibv_mtu>(peer.mtu));
  attributes.dest_qp_num = peer.qp_num;
  attributes.rq_psn = peer.psn;
  attributes.max_dest_rd_atomic = dtutils::kReadDepth;
  attributes.min_rnr_timer = dtutils::kMinRnrTimer;
  attributes.ah_attr.port_num = own.port;
  attributes.ah_attr.dlid = peer.lid;
  attributes.ah_attr.is_global = own.link_layer != IBV_LINK_LAYER_INFINIBAND;
  std::memcpy(attributes.ah_attr.grh.dgid.raw, peer.gid, sizeof peer.gid);
  attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(own.gid_index);
  attributes.ah_attr.grh.hop_limit = 64;
  device.modify_qp(qp, attributes,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

void to_ready_to_send(dtutils::Device& device, ibv_qp* qp, std::uint32_t psn) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = psn;
  attributes.max_rd_atomic = dtutils::kReadDepth;
  attributes.timeout = dtutils::kAckTimeout;
  attributes.retry_cnt = dtutils::kRetryCount;
  attributes.rnr_retry = dtutils::kRnrRetryForEver;
  device.modify_qp(qp, attributes,
                   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
                       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

void to_reset(dtutils::Device& device, ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  device.modify_qp(qp, attributes, IBV_QP_STATE);
}

ibv_qp* make_connected(dtutils::Device& device, Side& own, Side& peer, ibv_qp_init_attr& wanted) {
  wanted.qp_type = IBV_QPT_RC;
  ibv_qp* qp = device.create_qp(own.pd.raw(), wanted);
  dtutils::Endpoint endpoint = own.qp.endpoint();
  endpoint.qp_num = qp->qp_num;
  to_init(device, qp, dtutils::kAccessAll);
  to_ready_to_receive(device, qp, peer.qp.endpoint());
  peer.qp.connect(endpoint);
  to_ready_to_send(device, qp, endpoint.psn);
  return qp;
}

}  // namespace support
