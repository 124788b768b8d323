// SPDX-License-Identifier: MIT
// The table of ibv_modify_qp(3): which attributes a step of a reliable connection takes.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

namespace dtutils::software {

/// One step from state to state (or a change within a state), with masks of IBV_QP_*.
struct Step {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

/// The step, or nullptr when none leads there. SQD and SQE are not offered.
const Step* find_step(ibv_qp_state from, ibv_qp_state to) noexcept;

/// Refuses what ibv_modify_qp(3) does not offer: throws Error about `object`. Setup only.
void check_step(std::string_view object, ibv_qp_state from, ibv_qp_state to,
                const ibv_qp_attr& attributes, int mask);

/// Takes over what `mask` names.
void merge(ibv_qp_attr& known, const ibv_qp_attr& changed, int mask) noexcept;

/// "IBV_QP_AV, IBV_QP_PATH_MTU".
std::string names_of(int mask);

/// "RTS" and so on.
const char* state_name(ibv_qp_state state) noexcept;

}  // namespace dtutils::software
