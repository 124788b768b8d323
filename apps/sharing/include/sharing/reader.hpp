// SPDX-License-Identifier: MIT
// A datum that a worker gets often, and knows where to find in the cache of its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "sharing/client.hpp"
#include "sharing/detail/seen_copy.hpp"

namespace sharing {

/// Gets of one datum, as Client::get:
///
///     sharing::Reader reader(client, load);
///     for (;;) if (reader.get(mine) == sharing::Status::kDone) use(mine);
///
/// It remembers what the host has of the datum. So a get that finds that unchanged, and fresh
/// enough, compares two words and copies the bytes, and with kTemporal reads the clock. Any other
/// get, and each of kRead, kWrite and kStrict, is that of the client. Owner thread only; the Client
/// outlives it.
class Reader {
 public:
  /// Nothing is fetched yet.
  Reader(Client& client, const Datum& datum) noexcept;

  /// As Client::get. It is counted there.
  Status get(std::span<std::byte> into, std::uint64_t* version = nullptr) {
    if (into.size() != datum_.bytes || !is_fresh() || !seen_.copy(into.data(), into.size())) {
      return get_anew(into, version);
    }
    if (version != nullptr) *version = seen_.version;
    ++client_.counters_.hits;
    return Status::kDone;
  }
  /// The same into an object of as many bytes as the datum has.
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_convertible_v<T&, std::span<std::byte>>)
  Status get(T& into, std::uint64_t* version = nullptr) {
    return get(std::as_writable_bytes(std::span<T, 1>(&into, 1)), version);
  }
  /// As given.
  const Datum& datum() const noexcept { return datum_; }

 private:
  bool is_fresh() const noexcept {
    if (!seen_.unchanged()) return false;
    if (datum_.model.coherence == Coherence::kTemporal) return is_young();
    // Who leads its host hears of each version.
    return leads_ || datum_.model.coherence == Coherence::kNull || is_told();
  }
  bool is_young() const noexcept;
  bool is_told() const noexcept;
  Status get_anew(std::span<std::byte> into, std::uint64_t* version);

  Client& client_;
  const Datum datum_;
  detail::SeenCopy seen_;
  bool leads_;
};

}  // namespace sharing
