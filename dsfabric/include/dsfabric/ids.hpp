// SPDX-License-Identifier: MIT
// Names of machines, processes and worker threads: small, strong, ready to travel in a message.
#pragma once

#include <fmt/core.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace dsfabric {

/// A host, numbered from 0 in the order of its lowest process.
struct MachineId {
  /// The number, from 0.
  std::uint16_t value = 0;
  friend auto operator<=>(const MachineId&, const MachineId&) = default;
};

/// One process of the job: its rank, from 0.
struct ProcessId {
  /// The number, from 0.
  std::uint16_t value = 0;
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// An upcall that Fabric::on_failure has taken; 0 is none.
struct UpcallId {
  /// Of the order in which they were taken.
  std::uint64_t value = 0;
  friend auto operator<=>(const UpcallId&, const UpcallId&) = default;
};

/// A worker thread: the process it lives in, and its index there, from 0. Ordered by process, then
/// index. Trivially copyable, 4 bytes: put it into messages and captures as it is.
struct ThreadId {
  /// Index that stands for "any service thread of the process".
  static constexpr std::uint16_t kService = 0xffff;

  /// The process that it lives in.
  ProcessId process;
  /// Its number in that process, from 0; or kService.
  std::uint16_t index = 0;
  friend auto operator<=>(const ThreadId&, const ThreadId&) = default;

  /// Names the service threads of a process as the receiver of a message.
  static constexpr ThreadId service_of(ProcessId process) noexcept { return {process, kService}; }
  /// Whether it names service threads. Any thread, wait-free.
  constexpr bool is_service() const noexcept { return index == kService; }
};

static_assert(sizeof(MachineId) == 2 && sizeof(ProcessId) == 2 && sizeof(ThreadId) == 4);
static_assert(std::is_trivially_copyable_v<ThreadId> && std::is_standard_layout_v<ThreadId>);

namespace detail {

/// What the formatters of ids have in common. Their format() is compiled once, in ids.cpp: written
/// here, it would make every source that prints an id compile all of fmt.
struct IdFormatter {
  /// Called by fmt: nothing is left to read.
  constexpr fmt::format_parse_context::iterator parse(fmt::format_parse_context& context) {
    return context.begin();
  }
};

}  // namespace detail

}  // namespace dsfabric

/// For unordered containers.
template <>
struct std::hash<dsfabric::MachineId> {
  /// The hash value.
  std::size_t operator()(dsfabric::MachineId id) const noexcept { return id.value; }
};
/// For unordered containers.
template <>
struct std::hash<dsfabric::ProcessId> {
  /// The hash value.
  std::size_t operator()(dsfabric::ProcessId id) const noexcept { return id.value; }
};
/// For unordered containers.
template <>
struct std::hash<dsfabric::ThreadId> {
  /// The hash value.
  std::size_t operator()(dsfabric::ThreadId id) const noexcept {
    return std::size_t{id.process.value} << 16 | id.index;
  }
};

/// Prints "m2". Ids take no format specification: the compiler refuses "{:>4}".
template <>
struct fmt::formatter<dsfabric::MachineId> : dsfabric::detail::IdFormatter {
  /// Called by fmt.
  fmt::format_context::iterator format(dsfabric::MachineId id, fmt::format_context& context) const;
};
/// Prints "p3".
template <>
struct fmt::formatter<dsfabric::ProcessId> : dsfabric::detail::IdFormatter {
  /// Called by fmt.
  fmt::format_context::iterator format(dsfabric::ProcessId id, fmt::format_context& context) const;
};
/// Prints "3.1": thread 1 of process 3; "3.service" for its service threads.
template <>
struct fmt::formatter<dsfabric::ThreadId> : dsfabric::detail::IdFormatter {
  /// Called by fmt.
  fmt::format_context::iterator format(dsfabric::ThreadId id, fmt::format_context& context) const;
};
