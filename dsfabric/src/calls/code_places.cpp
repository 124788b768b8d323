// SPDX-License-Identifier: MIT
// CodePlaces: walks the program headers of everything that is loaded.
#include "calls/code_places.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <optional>
#include <span>

#include "dtutils/fnv1a.hpp"

namespace dsfabric {
namespace {

const std::byte* memory_of(const dl_phdr_info& info, const ElfW(Phdr) & segment) noexcept {
  return reinterpret_cast<const std::byte*>(info.dlpi_addr + segment.p_vaddr);
}

std::optional<std::uint64_t> build_id(std::span<const std::byte> notes, std::size_t align) {
  const auto padded = [align](std::size_t bytes) { return (bytes + align - 1) / align * align; };
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t text = padded(sizeof head + head.n_namesz);
    const std::size_t size = padded(text + head.n_descsz);
    if (size > notes.size()) break;
    std::uint64_t id;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof ELF_NOTE_GNU &&
        head.n_descsz >= sizeof id &&
        std::memcmp(notes.data() + sizeof head, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      std::memcpy(&id, notes.data() + text, sizeof id);
      return id;
    }
    notes = notes.subspan(size);
  }
  return {};
}

/// Relocation changes writable segments only. The address sanitizer would take the gaps that it
/// puts between constants for memory that nobody may read.
__attribute__((no_sanitize_address)) std::uint64_t hash_of(std::span<const std::byte> bytes,
                                                           std::uint64_t seed) noexcept {
  std::uint64_t hash = seed ^ bytes.size();
  const auto mix = [&](std::uint64_t word) {
    hash = dtutils::Fnv1a(hash).number(word).value();
    // A product carries upwards only: without this, the top bits of two words could cancel out.
    hash ^= hash >> 29;
  };
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof word; bytes = bytes.subspan(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
  }
  word = 0;
  for (const std::byte byte : bytes) word = word << 8 | std::to_integer<std::uint64_t>(byte);
  mix(word);
  return hash;
}

std::uint64_t contents_of(const dl_phdr_info& info) {
  const std::span segments(info.dlpi_phdr, info.dlpi_phnum);
  for (const auto& segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    const std::size_t align = segment.p_align == 8 ? 8 : 4;
    if (auto id = build_id({memory_of(info, segment), segment.p_memsz}, align)) return *id;
  }
  std::uint64_t hash = dtutils::Fnv1a::kBasis;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    if ((segment.p_flags & PF_R) == 0) continue;
    hash = hash_of({memory_of(info, segment), segment.p_memsz}, hash);
  }
  return hash;
}

}  // namespace

CodePlaces::CodePlaces() {
  const auto visit = [](dl_phdr_info* info, std::size_t, void* self) {
    auto& places = *static_cast<CodePlaces*>(self);
    places.files_.push_back({info->dlpi_addr, 0, info->dlpi_name});
    for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const auto begin = reinterpret_cast<std::uintptr_t>(memory_of(*info, segment));
      places.segments_.push_back({begin, begin + segment.p_memsz, places.files_.size() - 1});
      places.files_.back().contents = contents_of(*info);
    }
    return 0;
  };
  dl_iterate_phdr(visit, this);
}

const CodePlaces::Segment* CodePlaces::find(const void* code) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  for (const Segment& each : segments_) {
    if (address >= each.begin && address < each.end) return &each;
  }
  return nullptr;
}

detail::CodePlace CodePlaces::of(const void* code) const noexcept {
  const Segment* const segment = find(code);
  if (segment == nullptr) return {};
  const File& file = files_[segment->file];
  return {file.contents, reinterpret_cast<std::uintptr_t>(code) - file.base};
}

std::string CodePlaces::file(const void* code) const {
  const Segment* const segment = find(code);
  if (segment == nullptr) return "unknown code";
  const std::string& path = files_[segment->file].path;
  return path.empty() ? "the program itself" : path;
}

}  // namespace dsfabric
