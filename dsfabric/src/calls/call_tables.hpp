// SPDX-License-Identifier: MIT
// What this program's functions are called at each peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bootstrap/shared_bootstrap.hpp"
#include "dsfabric/call_context.hpp"
#include "dsfabric/config.hpp"
#include "dsfabric/detail/function_table.hpp"
#include "dsfabric/message.hpp"

namespace dsfabric {

/// Made once, from everyone's description. Any thread, wait-free.
class CallTables {
 public:
  /// `mine` lives as long as this; `described` holds FunctionTable::describe() of each process, or
  /// nothing where the digest is ours. Throws Error when a peer shares no named function although
  /// the tables differ.
  CallTables(const detail::FunctionTable& mine, std::uint32_t self,
             const std::vector<std::span<const std::byte>>& described);

  /// That of this program, which everything that runs or sends calls goes by: a shared library may
  /// have a copy of this layer's code, with a FunctionTable::instance() of its own.
  const detail::FunctionTable& mine() const noexcept { return mine_; }
  /// Its functions, as they are run in this process.
  std::span<const detail::FunctionTable::Entry> entries() const noexcept { return entries_; }
  /// FunctionTable::kAbsent when the peer's program has no such function.
  std::uint32_t index_at(std::uint32_t process, std::uint32_t function) const noexcept {
    const std::vector<std::uint32_t>& translation = translations_[process];
    return translation.empty() ? function : translation[function];
  }

 private:
  const detail::FunctionTable& mine_;
  std::span<const detail::FunctionTable::Entry> entries_;
  /// Empty for a process of the same binary.
  std::vector<std::vector<std::uint32_t>> translations_;
};

/// Tells which functions this program has, and hears which the others have. Throws Error when they
/// cannot call each other. A collective of all processes; setup only.
CallTables agree_on_functions(SharedBootstrap& bootstrap, const Config& config);

/// run_records() with these functions: those of the fabric.
bool run_records(std::span<std::byte> bytes, CallContext& context,
                 std::span<const detail::FunctionTable::Entry> functions);

/// Runs the records of messages of kind kCall.
MessageHandler call_handler() noexcept;

}  // namespace dsfabric
