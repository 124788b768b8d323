// SPDX-License-Identifier: MIT
// Wire format between the broker of a host and a process of another one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "dtutils/shared_secret.hpp"

namespace preload::hosts {

using dtutils::HandshakeRole;
using dtutils::Nonce;
using dtutils::Proof;

/// A connection as `meeting_name` writes it, and zeros behind it.
using ConnectionName = std::array<char, 80>;

inline constexpr std::uint64_t kMagic = 0x736b6f6e6b2d6163;
/// Raise it with every change below, and of what the processes say to each other afterwards.
inline constexpr std::uint32_t kVersion = 3;

/// The three messages over TCP. All of them have a fixed size.
///
///     process                     broker
///        |  <---- Challenge --------  |    a process says nothing to who does not begin so
///        |  ----- Knock ----------->  |    proves that it knows the secret
///        |  <---- Answer -----------  |    and so does the broker
///
/// After Verdict::kHandedOver the connection belongs to the process that has the other end of the
/// TCP connection which was named, and the two go on as streams::connect_over and accept_over.
struct Challenge {
  std::uint64_t magic;
  std::uint32_t version;
  /// 0.
  std::uint32_t reserved;
  Nonce broker;
};
/// See Challenge.
struct Knock {
  Nonce process;
  ConnectionName connection;
  Proof proof;
};
enum class Verdict : std::uint32_t {
  kHandedOver = 1,
  /// No process of this host offers a stream for that connection at this moment.
  kNobody = 2,
};
/// See Challenge.
struct Answer {
  Verdict verdict;
  /// 0.
  std::uint32_t reserved;
  Proof proof;
};

/// What a proof is about. The process is its initiator, the broker its responder.
struct Statement {
  /// Of the broker; a process has none.
  Verdict verdict{};
  Nonce broker;
  Nonce process;
  ConnectionName connection;
};

/// What a side proves beside the nonces.
struct ProvedPayload {
  std::uint32_t version;
  Verdict verdict;
  ConnectionName connection;
};

static_assert(sizeof(Challenge) == 48 && std::is_trivially_copyable_v<Challenge>);
static_assert(sizeof(Knock) == 144 && std::is_trivially_copyable_v<Knock>);
static_assert(sizeof(Answer) == 40 && std::is_trivially_copyable_v<Answer>);
static_assert(sizeof(ProvedPayload) == 88 && std::is_trivially_copyable_v<ProvedPayload>);

/// Nothing when the text is too long.
inline std::optional<ConnectionName> connection_name(std::string_view text) noexcept {
  ConnectionName name{};
  if (text.empty() || text.size() >= name.size()) return std::nullopt;
  std::copy(text.begin(), text.end(), name.begin());
  return name;
}

/// Empty when it is none that `meeting_name` could write.
inline std::string_view text_of(const ConnectionName& name) noexcept {
  const auto* const end = std::find(name.begin(), name.end(), '\0');
  const std::string_view text(name.data(), static_cast<std::size_t>(end - name.begin()));
  const bool padded = std::all_of(end, name.end(), [](char each) { return each == '\0'; });
  return padded && end != name.end() &&
                 text.find_first_not_of("0123456789abcdefp/:-") == std::string_view::npos
             ? text
             : std::string_view();
}

}  // namespace preload::hosts
