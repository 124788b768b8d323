// SPDX-License-Identifier: MIT
// Collecting the slots, ordering them, comparing tables.
#include "dsfabric/detail/function_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "calls/code_places.hpp"
#include "calls/readable_name.hpp"
#include "dsfabric/callable.hpp"
#include "dtutils/fnv1a.hpp"
#include "dtutils/simulation.hpp"

namespace dsfabric::detail {
namespace {

/// Filled by static initialization, before main, by one thread.
std::vector<FunctionSlot*>& registered() {
  static std::vector<FunctionSlot*> slots;
  return slots;
}

/// Its address differs from one copy of this code to the other.
constexpr char kThisCopy = 0;

/// Of one function, before its name.
struct Head {
  std::uint32_t name_bytes;
  std::uint32_t bytes;
  std::uint64_t named_by_user;
  CodePlace place;
};
static_assert(sizeof(Head) == 32);

struct Described {
  std::string name;
  Head head;
  std::string readable() const { return readable_name(name, head.named_by_user != 0); }
};

std::vector<Described> parse(std::span<const std::byte> bytes) {
  std::vector<Described> all;
  const auto take = [&](void* into, std::size_t size) {
    if (bytes.size() < size) return false;
    std::memcpy(into, bytes.data(), size);
    bytes = bytes.subspan(size);
    return true;
  };
  Head head;
  while (take(&head, sizeof head)) {
    std::string name(std::min<std::size_t>(head.name_bytes, bytes.size()), '\0');
    take(name.data(), name.size());
    all.push_back({std::move(name), head});
  }
  return all;
}

/// As `readelf -n` prints the first bytes of a build id.
std::uint64_t as_printed(std::uint64_t file) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap64(file);
}

constexpr const char* kRemedy =
    "start the same binary everywhere, or give the functions names (kCallName)";

}  // namespace

std::string wrapper_name(std::string_view inner, char what,
                         std::initializer_list<const std::type_info*> types) {
  std::string name = fmt::format("{}/{}", inner, what);
  const char* before = "(";
  for (const std::type_info* const type : types) {
    name += std::exchange(before, ", ");
    name += type->name();
  }
  return types.size() == 0 ? name : name + ")";
}

FunctionSlot::FunctionSlot(std::string_view name, bool named_by_user, Invokers run,
                           std::uint32_t bytes)
    : name_(name), named_by_user_(named_by_user), invokers_(run), bytes_(bytes) {
  registered().push_back(this);
}

const FunctionTable& FunctionTable::instance() {
  static const FunctionTable table;
  return table;
}

bool FunctionTable::is_of_this_copy() const noexcept { return copy_ == &kThisCopy; }

FunctionTable::FunctionTable() : copy_(&kThisCopy) {
  const CodePlaces code;
  struct Placed {
    FunctionSlot* slot;
    CodePlace place;
  };
  std::vector<Placed> found;
  for (FunctionSlot* const slot : registered()) {
    found.push_back({slot, code.of(reinterpret_cast<const void*>(slot->invokers_.one))});
  }
  std::ranges::sort(found, {}, [](const Placed& each) {
    return std::tuple(each.slot->name_, each.place.file, each.place.offset);
  });
  for (const auto& [slot, place] : found) {
    if (conflict_.empty() && slot->named_by_user_ && !slots_.empty() &&
        slots_.back()->named_by_user_ && slots_.back()->name_ == slot->name_) {
      const auto file = [&](const FunctionSlot& each) {
        return code.file(reinterpret_cast<const void*>(each.invokers_.one));
      };
      conflict_ = fmt::format("two functions have the kCallName \"{}\", in {} and in {}",
                              readable_name(slot->name_, true), file(*slots_.back()), file(*slot));
    }
    slot->index_ = size();
    slots_.push_back(slot);
    places_.push_back(place);
    const Invokers& run = slot->invokers_;
    entries_.push_back({run.one, run.run, slot->bytes_, run.placed, run.needs_place});
    shown_entries_.push_back(
        {run.shown_one, run.shown_run, slot->bytes_, run.placed, run.needs_place});
  }
  digest_ = dtutils::Fnv1a().bytes(describe()).value();
}

std::span<const FunctionTable::Entry> FunctionTable::entries() const noexcept {
  const dtutils::Simulation* const simulation = dtutils::Simulation::current();
  return simulation != nullptr && simulation->traced() ? shown_entries_ : entries_;
}

std::string FunctionTable::readable(std::uint32_t index) const {
  return readable_name(slots_[index]->name(), slots_[index]->named_by_user());
}

std::vector<std::byte> FunctionTable::describe() const {
  std::vector<std::byte> bytes;
  const auto put = [&](const void* from, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  for (std::uint32_t i = 0; i < size(); ++i) {
    const std::string_view name = slots_[i]->name();
    const Head head{static_cast<std::uint32_t>(name.size()), slots_[i]->bytes(),
                    slots_[i]->named_by_user() ? 1u : 0u, places_[i]};
    put(&head, sizeof head);
    put(name.data(), name.size());
  }
  return bytes;
}

std::string FunctionTable::difference(std::span<const std::byte> described) const {
  const std::vector<Described> theirs = parse(described);
  for (std::size_t i = 0; i < std::max(theirs.size(), slots_.size()); ++i) {
    if (i >= theirs.size()) {
      return fmt::format("function \"{}\" is missing there; {}", readable(i), kRemedy);
    }
    if (i >= slots_.size()) {
      return fmt::format("function \"{}\" is missing here; {}", theirs[i].readable(), kRemedy);
    }
    const Head& there = theirs[i].head;
    if (slots_[i]->name() != theirs[i].name || slots_[i]->bytes() != there.bytes) {
      return fmt::format("function {} is \"{}\" ({} bytes) here and \"{}\" ({} bytes) there; {}", i,
                         readable(i), slots_[i]->bytes(), theirs[i].readable(), there.bytes,
                         kRemedy);
    }
    if (places_[i] != there.place) {
      return fmt::format(
          "function \"{}\" is at {:#x} of a file with build id {:016x}... here and at {:#x} of "
          "{:016x}... there: they are not the same build; {}",
          readable(i), places_[i].offset, as_printed(places_[i].file), there.place.offset,
          as_printed(there.place.file), kRemedy);
    }
  }
  return {};
}

std::vector<std::uint32_t> FunctionTable::translate(std::span<const std::byte> described) const {
  const std::vector<Described> theirs = parse(described);
  std::vector<std::uint32_t> indices(slots_.size(), kAbsent);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    const FunctionSlot& mine = *slots_[i];
    const auto same = std::ranges::find_if(theirs, [&](const Described& other) {
      const bool named = mine.named_by_user() && other.head.named_by_user != 0;
      const bool there = !mine.named_by_user() && other.head.named_by_user == 0 &&
                         places_[i] != CodePlace() && places_[i] == other.head.place;
      return (named || there) && other.name == mine.name() && other.head.bytes == mine.bytes();
    });
    if (same != theirs.end()) indices[i] = static_cast<std::uint32_t>(same - theirs.begin());
  }
  return indices;
}

}  // namespace dsfabric::detail
