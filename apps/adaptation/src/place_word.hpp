// SPDX-License-Identifier: MIT
// The word that says which site a node serves, and the memory it lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "adaptation/sites.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/hashed_word.hpp"

namespace adaptation::detail {

/// What the word of a node says: a hashed word (dtutils), since Soft-RoCE may hand out parts of two
/// of them. Every change adds 1 to `changes`, so a compare-and-swap takes no old word for a new one
/// before 2^29 changes.
///
///     bits 0..5 site | 6..11 target | 12 claimed | 13..41 changes | 42..63 hash
struct PlaceWord {
  SiteId site;
  /// Where a decider wants to move it; its own site when it is not claimed.
  SiteId target;
  bool claimed = false;
  std::uint32_t changes = 0;

  static constexpr std::uint32_t kChanges = (1u << 29) - 1;

  constexpr std::uint64_t encode(dsfabric::ProcessId node) const noexcept {
    const std::uint64_t bits = site.value | std::uint64_t{target.value} << 6 |
                               std::uint64_t{claimed} << 12 | std::uint64_t{changes} << 13;
    return dtutils::hashed_word(bits, salt(node));
  }
  /// Empty when it is none of that node's.
  static constexpr std::optional<PlaceWord> decode(std::uint64_t word,
                                                   dsfabric::ProcessId node) noexcept {
    if (!dtutils::is_hashed_word(word, salt(node))) return {};
    const std::uint64_t bits = word & dtutils::kHashedMask;
    return PlaceWord{{static_cast<std::uint8_t>(bits & 63)},
                     {static_cast<std::uint8_t>(bits >> 6 & 63)},
                     (bits >> 12 & 1) != 0,
                     static_cast<std::uint32_t>(bits >> 13 & kChanges)};
  }

  /// The words that follow it.
  constexpr PlaceWord claim_for(SiteId to) const noexcept { return {site, to, true, next()}; }
  constexpr PlaceWord give_back() const noexcept { return {site, site, false, next()}; }
  constexpr PlaceWord confirm() const noexcept { return {target, target, false, next()}; }

 private:
  constexpr std::uint32_t next() const noexcept { return (changes + 1) & kChanges; }
  static constexpr std::uint64_t salt(dsfabric::ProcessId node) noexcept { return node.value + 1u; }
};

/// Registered memory of a node that deciders read at once.
struct NodePage {
  /// See PlaceWord; changed by deciders.
  std::uint64_t place;
  /// What it serves: a site's number, or kClosed; written by the node. Only one byte of it changes,
  /// so a device that reads in parts reads it whole.
  std::uint64_t serving;
  /// Of the list of sites.
  std::uint64_t sites;
  static constexpr std::uint64_t kClosed = kMaxSites;
};
static_assert(sizeof(NodePage) == 24);

/// The name under which a node publishes where its page lies.
std::string name_of_page(dsfabric::ProcessId node);
/// That of this process, which no decider reads as a node before it is one.
dtutils::RemoteMemoryLocator place_of_page(dsfabric::Fabric& fabric);

}  // namespace adaptation::detail
