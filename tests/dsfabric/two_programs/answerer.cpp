// SPDX-License-Identifier: MIT
// The other one of two different programs in a job: runs what it offers, and calls nothing.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "dsfabric/two_programs/questions.hpp"

using namespace dsfabric;
using namespace two_programs;

namespace {

struct Unused {
  static constexpr std::string_view kCallName = "a_function_of_its_own";
  void operator()() const {}
};

/// An older version of the asker's.
struct Half {
  static constexpr std::string_view kCallName = "half";
  double operator()(int number) const { return number / 2.0; }
};

}  // namespace

int main(int argc, char** argv) try {
  // In another order than the asker, and with one more, so that no index is the same by chance.
  register_function<Unused>();
  register_function<SumSoFar>();
  register_function<AddUp>();
  register_function<Square>();
  register_function<Repeat, std::string, int>();
  register_function<Multiply, double, double>();
  register_function<Half, int>();
  Fabric fabric = join(argc, argv);
  fabric.run([](Thread& self) { self.barrier(); });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "answerer: %s\n", error.what());
  return EXIT_FAILURE;
}
