// SPDX-License-Identifier: MIT
// What the two programs have in common: callables with names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "dsfabric/dsfabric.hpp"

namespace two_programs {

struct Square {
  static constexpr std::string_view kCallName = "square";
  std::uint64_t of;
  std::uint64_t operator()() const { return of * of; }
};

/// Adds up the bytes of its buffer, and remembers the sum.
struct AddUp {
  static constexpr std::string_view kCallName = "add_up";
  static inline std::uint64_t sum = 0;
  void operator()(dsfabric::CallContext&, std::byte* buffer, std::uint32_t bytes) const {
    for (std::uint32_t i = 0; i < bytes; ++i) sum += std::to_integer<std::uint64_t>(buffer[i]);
  }
};

/// Arguments behind the callable, and a result that is no plain data.
struct Repeat {
  static constexpr std::string_view kCallName = "repeat";
  template <class Times>
  std::string operator()(const std::string& text, Times times) const {
    std::string all;
    for (Times i = 0; i < times; ++i) all += text;
    return all;
  }
};

/// Arguments that travel like captures.
struct Multiply {
  static constexpr std::string_view kCallName = "multiply";
  double operator()(double a, double b) const { return a * b; }
};

struct SumSoFar {
  static constexpr std::string_view kCallName = "sum_so_far";
  std::uint64_t operator()() const { return AddUp::sum; }
};

}  // namespace two_programs
