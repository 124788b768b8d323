// SPDX-License-Identifier: MIT
// What a program is told of the members of its job.
#pragma once

#include <functional>
#include <string>

#include "dsfabric/ids.hpp"

namespace dsfabric {

/// What a program wants to hear of the members of its job (Fabric::on_change). Empty ones are not
/// called.
struct MemberUpcalls {
  /// A process has come to the elastic job.
  std::function<void(ProcessId)> on_join;
  /// A process has left the elastic job in good order.
  std::function<void(ProcessId)> on_leave;
  /// A process has failed.
  std::function<void(ProcessId, const std::string& reason)> on_failure;
};

}  // namespace dsfabric
