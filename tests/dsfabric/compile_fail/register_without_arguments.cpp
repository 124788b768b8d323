// SPDX-License-Identifier: MIT
// Wrong on purpose: with which arguments will others call it?
#include <string>
#include <string_view>

#include "dsfabric/dsfabric.hpp"

struct Greet {
  static constexpr std::string_view kCallName = "greet";
  void operator()(const std::string&) const {}
};
void prepare() { dsfabric::register_function<Greet>(); }
// expected: name the types of its arguments too
