// SPDX-License-Identifier: MIT
// How the workers of a job find the parts of each other, and find out who made another table.
#pragma once

#include <cstdint>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/memory_region.hpp"
#include "hashtable/options.hpp"

namespace hashtable::detail {

class Home;

/// What keys and values are called in the program.
struct TypeNames {
  /// Of the key.
  std::string_view key;
  /// Of the value.
  std::string_view value;
};
/// Those of two types.
template <class Key, class Value>
TypeNames type_names() noexcept {
  return {typeid(Key).name(), typeid(Value).name()};
}

/// Where a part is.
struct Place {
  /// Its memory.
  dtutils::RemoteMemoryLocator region;
  /// Its Home, in its process.
  std::uint64_t home;
  /// Of the types, and of the options.
  std::uint64_t types;
  /// See `types`.
  std::uint64_t options;
};

/// A collective: the parts of all workers, by rank. Throws Error at all of them when the table of
/// one has other types or options. Setup only.
std::vector<Place> meet(dsfabric::Thread& self, Home& home, const Options& options,
                        const TypeNames& types);

}  // namespace hashtable::detail
