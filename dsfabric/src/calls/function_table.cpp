// SPDX-License-Identifier: MIT
// Collecting the slots, ordering them, comparing tables.
#include "dsfabric/function_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace dsfabric {
namespace {

/// Filled by static initialization, before main, by one thread.
std::vector<FunctionSlot*>& registered() {
  static std::vector<FunctionSlot*> slots;
  return slots;
}

struct Described {
  std::string name;
  bool named_by_user;
  std::uint32_t bytes;
};

std::vector<Described> parse(std::span<const std::byte> bytes) {
  std::vector<Described> all;
  const auto take = [&](void* into, std::size_t size) {
    if (bytes.size() < size) return false;
    std::memcpy(into, bytes.data(), size);
    bytes = bytes.subspan(size);
    return true;
  };
  std::uint32_t head[3];
  while (take(head, sizeof head)) {
    std::string name(std::min<std::size_t>(head[0], bytes.size()), '\0');
    take(name.data(), name.size());
    all.push_back({std::move(name), head[1] != 0, head[2]});
  }
  return all;
}

constexpr const char* kRemedy =
    "start the same binary everywhere, or give the functions names (kCallName)";

}  // namespace

FunctionSlot::FunctionSlot(std::string_view name, bool named_by_user, Invokers run,
                           std::uint32_t bytes)
    : name_(name), named_by_user_(named_by_user), invokers_(run), bytes_(bytes) {
  registered().push_back(this);
}

const FunctionTable& FunctionTable::instance() {
  static const FunctionTable table;
  return table;
}

FunctionTable::FunctionTable() {
  std::vector<FunctionSlot*> slots = registered();
  std::ranges::sort(slots, [](const FunctionSlot* a, const FunctionSlot* b) {
    // The addresses move with ASLR, but their order within one binary does not.
    return std::tuple(a->name_, reinterpret_cast<std::uintptr_t>(a->invokers_.one)) <
           std::tuple(b->name_, reinterpret_cast<std::uintptr_t>(b->invokers_.one));
  });
  digest_ = 0xcbf29ce484222325;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) {
      digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  };
  for (FunctionSlot* slot : slots) {
    slot->index_ = size();
    slots_.push_back(slot);
    entries_.push_back({slot->invokers_.one, slot->invokers_.run, slot->bytes_,
                        slot->invokers_.placed, slot->invokers_.needs_place});
    mix(fmt::format("{}\n{}\n", slot->name_, slot->bytes_));
  }
}

std::vector<std::byte> FunctionTable::describe() const {
  std::vector<std::byte> bytes;
  const auto put = [&](const void* from, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  for (const FunctionSlot* slot : slots_) {
    const std::uint32_t head[3] = {static_cast<std::uint32_t>(slot->name_.size()),
                                   slot->named_by_user_ ? 1u : 0u, slot->bytes_};
    put(head, sizeof head);
    put(slot->name_.data(), slot->name_.size());
  }
  return bytes;
}

std::string FunctionTable::difference(std::span<const std::byte> described) const {
  const std::vector<Described> theirs = parse(described);
  for (std::size_t i = 0; i < std::max(theirs.size(), slots_.size()); ++i) {
    if (i >= theirs.size()) {
      return fmt::format("function \"{}\" is missing there; {}", slots_[i]->name(), kRemedy);
    }
    if (i >= slots_.size()) {
      return fmt::format("function \"{}\" is missing here; {}", theirs[i].name, kRemedy);
    }
    if (slots_[i]->name() != theirs[i].name || slots_[i]->bytes() != theirs[i].bytes) {
      return fmt::format("function {} is \"{}\" ({} bytes) here and \"{}\" ({} bytes) there; {}", i,
                         slots_[i]->name(), slots_[i]->bytes(), theirs[i].name, theirs[i].bytes,
                         kRemedy);
    }
  }
  return {};
}

std::vector<std::uint32_t> FunctionTable::translate(std::span<const std::byte> described) const {
  const std::vector<Described> theirs = parse(described);
  std::vector<std::uint32_t> indices(slots_.size(), kAbsent);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    for (std::uint32_t j = 0; slots_[i]->named_by_user() && j < theirs.size(); ++j) {
      if (theirs[j].named_by_user && theirs[j].name == slots_[i]->name() &&
          theirs[j].bytes == slots_[i]->bytes()) {
        indices[i] = j;
      }
    }
  }
  return indices;
}

}  // namespace dsfabric
