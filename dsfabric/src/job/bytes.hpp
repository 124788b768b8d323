// SPDX-License-Identifier: MIT
// Writing and reading the records that processes exchange while they join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dtutils/error.hpp"

namespace dsfabric {

/// Appends values one after the other. Setup only.
class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(const T& value) {
    append(&value, sizeof value);
  }
  void text(std::string_view text) {
    value(static_cast<std::uint32_t>(text.size()));
    append(text.data(), text.size());
  }
  template <class T>
  void list(const std::vector<T>& values) {
    value(static_cast<std::uint32_t>(values.size()));
    for (const T& one : values) {
      value(one);
    }
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  void append(const void* from, std::size_t size) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + size);
    if (size != 0) std::memcpy(bytes_.data() + before, from, size);
  }

  std::vector<std::byte> bytes_;
};

/// Reads them back. Throws Error when the bytes end too early: the sender is another program.
/// Setup only.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  T value() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  std::string text() {
    const auto length = value<std::uint32_t>();
    return {reinterpret_cast<const char*>(take(length)), length};
  }
  template <class T>
  std::vector<T> list() {
    const auto count = value<std::uint32_t>();
    std::vector<T> values;
    for (std::uint32_t i = 0; i < count; ++i) {
      values.push_back(value<T>());
    }
    return values;
  }

 private:
  const std::byte* take(std::size_t count) {
    if (count > bytes_.size()) {
      throw dtutils::Error("handshake", "a process sent a record that ends too early",
                           "start all processes from programs of the same build");
    }
    const std::byte* at = bytes_.data();
    bytes_ = bytes_.subspan(count);
    return at;
  }
  std::span<const std::byte> bytes_;
};

}  // namespace dsfabric
