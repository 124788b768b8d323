// SPDX-License-Identifier: MIT
// The bytes of an object as they travel: those between its members are zero.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace dsfabric::detail {

/// Copies the bytes of an object to where they travel from, at a multiple of its alignment. What
/// lies between its members holds whatever was in that memory before: it becomes zero, so that
/// nothing leaves the process that the program did not mean, and equal objects are equal bytes.
/// Compilers without __builtin_clear_padding leave it as it is.
template <class T>
inline void put_object(std::byte* to, const T& object) noexcept {
  std::memcpy(to, static_cast<const void*>(&object), sizeof object);
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  // Others are refused by their callers, in words.
  if constexpr (std::is_trivially_copyable_v<T> && !std::has_unique_object_representations_v<T>) {
    __builtin_clear_padding(reinterpret_cast<std::remove_cv_t<T>*>(to));
  }
#endif
#endif
}

/// The same where the bytes are sent, or copied on, from. Refers to an object that has no bytes
/// between its members.
template <class T>
class ObjectBytes {
 public:
  explicit ObjectBytes(const T& object) noexcept {
    if constexpr (kAsItIs) {
      copy_ = &object;
    } else {
      put_object(copy_, object);
    }
  }
  ObjectBytes(const ObjectBytes&) = delete;
  ObjectBytes& operator=(const ObjectBytes&) = delete;

  const void* data() const noexcept { return copy_; }
  std::span<const std::byte> span() const noexcept {
    return {static_cast<const std::byte*>(data()), sizeof(T)};
  }

 private:
  static constexpr bool kAsItIs = std::has_unique_object_representations_v<T>;
  struct Copy {
    operator std::byte*() noexcept { return bytes; }
    operator const void*() const noexcept { return bytes; }
    alignas(T) std::byte bytes[sizeof(T)];
  };
  std::conditional_t<kAsItIs, const void*, Copy> copy_;
};

}  // namespace dsfabric::detail
