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

/// No process of a job has this number.
inline constexpr std::uint16_t kNobody = 0xffff;

struct NodeAnswer {
  /// It was done; for kClaim: the name was free.
  bool done = false;
  /// For kAtHome: who is getting the name for the datum; kNobody: it has it.
  std::uint16_t claimer = kNobody;
  Datum datum;
};

/// A call to a service thread. It has a name, so that different programs of a job understand each
/// other. `node` is the address of the Node there, which all processes have told each other.
///
/// The home of a datum keeps its number, and knows its name from before the keeper of the name does
/// (kTakeIndex) until it is freed (kGiveIndex); kSettle says that the keeper knows it too. So names
/// that a dead keeper took along are asked for at the homes (kAtHome).
struct NodeRequest {
  static constexpr std::string_view kCallName = "cariama.sharing.request";
  enum class What : std::uint32_t {
    // To a home.
    kTakeIndex,
    kSettle,
    kGiveIndex,
    kAtHome,
    // To the keeper of the name.
    kClaim,
    kFind,
    kForget,
  };
  std::uint64_t node = 0;
  What what = What::kFind;
  /// For kTakeIndex: who asks.
  std::uint16_t claimer = kNobody;
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
  /// A datum that lives here.
  struct Resident {
    std::array<char, kNameBytes> name{};
    Datum datum;
    std::uint16_t claimer = kNobody;
  };
  NodeAnswer take_index(const NodeRequest& request);
  NodeAnswer at_home(std::string_view name) const;

  std::mutex mutex_;
  /// Kept here, wherever they live.
  std::map<std::string, Datum, std::less<>> names_;
  /// By number.
  std::vector<Resident> residents_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sharing::detail
