// SPDX-License-Identifier: MIT
// What the store and its clients have in common. Each of them defines what it runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "riutils/riutils.hpp"

namespace two_programs {

/// At the store, which is worker 0 of process 0: keeps a value, and tells all clients.
struct Put {
  static constexpr std::string_view kCallName = "store.put";
  bool operator()(dsfabric::CallContext& call, const std::string& key,
                  const std::string& value) const;
};

/// At the store.
struct Get {
  static constexpr std::string_view kCallName = "store.get";
  std::optional<std::string> operator()(const std::string& key) const;
};

/// At each client.
struct Changed {
  static constexpr std::string_view kCallName = "client.changed";
  void operator()(const std::string& key) const;
};

}  // namespace two_programs
