// SPDX-License-Identifier: MIT
// A program that gives two functions one name.
#include <cstdio>
#include <exception>

#include "dsfabric/dsfabric.hpp"

namespace {

struct One {
  static constexpr std::string_view kCallName = "test.twice";
  int operator()() const { return 1; }
};
struct Other {
  static constexpr std::string_view kCallName = "test.twice";
  int operator()() const { return 2; }
};

}  // namespace

int main(int argc, char** argv) try {
  dsfabric::register_function<One>();
  dsfabric::register_function<Other>();
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "one_name_twice: %s\n", error.what());
  return 1;
}
