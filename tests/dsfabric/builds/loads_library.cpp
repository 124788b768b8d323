// SPDX-License-Identifier: MIT
// Loads a library before join(), after it, or never, and lets it call.
#include <dlfcn.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "dsfabric/dsfabric.hpp"

namespace {

struct First {
  // Comes first in every table.
  static constexpr std::string_view kCallName = "!first";
  std::uint64_t number;
  void operator()() const { std::puts("a wrong function ran"); }
};

void* load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view when = argv[2];
  void* library = when == "early" ? load(argv[1]) : nullptr;
  dsfabric::register_function<First>();
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  fabric.run([&](dsfabric::Thread& self) {
    if (when == "late") library = load(argv[1]);
    if (library != nullptr) {
      reinterpret_cast<void (*)(dsfabric::Thread&)>(dlsym(library, "call_from_library"))(self);
    }
    self.barrier();
  });
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "loads_library: %s\n", error.what());
  return 1;
}
