// SPDX-License-Identifier: MIT
// What a process keeps for others: names, and the numbers of data that live in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "sharing/datum.hpp"

namespace sharing::detail {

inline constexpr std::size_t kNameBytes = 64;

struct NodeAnswer {
  /// It was done; for kClaim: the name was free.
  bool done = false;
  std::uint32_t index = 0;
  Datum datum;
};

/// A call to a service thread. It has a name, so that different programs of a job understand each
/// other. `node` is the address of the Node there, which all processes have told each other.
struct NodeRequest {
  static constexpr std::string_view kCallName = "cariama.sharing.request";
  enum class What : std::uint32_t { kTakeIndex, kGiveIndex, kClaim, kFind, kForget };
  std::uint64_t node = 0;
  What what = What::kFind;
  std::uint32_t index = 0;
  std::array<char, kNameBytes> name{};
  Datum datum;
  NodeAnswer operator()(dsfabric::CallContext& call) const;
};

/// Lives as long as the fabric, since requests may come later than the end of the Space. Any thread
/// (takes a lock).
class Node {
 public:
  explicit Node(std::uint32_t data);
  NodeAnswer run(const NodeRequest& request);
  /// Of all processes; set before anybody asks.
  std::vector<std::uint64_t> nodes;

 private:
  std::mutex mutex_;
  std::map<std::string, Datum, std::less<>> names_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sharing::detail
