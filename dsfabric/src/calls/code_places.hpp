// SPDX-License-Identifier: MIT
// Where code lies, told so that another process understands it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/detail/function_table.hpp"

namespace dsfabric {

/// The files (program and shared libraries) that this process had loaded when it was made. Setup
/// only.
class CodePlaces {
 public:
  CodePlaces();

  /// The file that holds an address of code, by what is in it, and how far into it. A file is known
  /// by the first 8 bytes of its GNU build id; one that was linked without (--build-id=none), by a
  /// hash of what it maps read-only.
  detail::CodePlace of(const void* code) const noexcept;
  /// The path of that file, for messages.
  std::string file(const void* code) const;

 private:
  struct Segment {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::size_t file;
  };
  struct File {
    std::uintptr_t base;
    std::uint64_t contents;
    std::string path;
  };
  const Segment* find(const void* code) const noexcept;

  std::vector<Segment> segments_;
  std::vector<File> files_;
};

}  // namespace dsfabric
