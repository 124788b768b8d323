// SPDX-License-Identifier: MIT
// Invariants of the workload memory.
#include "memory_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace simulate {
namespace {

/// Of a value, from where the number of the segment begins.
constexpr unsigned kSegmentShift = 32;

}  // namespace

bool MemoryCourse::is_told(std::uint32_t node, std::uint32_t home) const {
  return !has_crashed(home) && is_there(home) && !believes_failed(home, node);
}

std::uint64_t MemoryCourse::begin_write(std::size_t life, WriteName* last) {
  std::vector<Life::Write>& writes = lives[life].writes;
  writes.push_back({now(), kNoMoment});
  if (last != nullptr) {
    writes.back().after = std::exchange(*last, WriteName{life, writes.size() - 1});
  }
  return std::uint64_t{life + 1} << kSegmentShift | (writes.size() - 1);
}

void MemoryCourse::wrote(std::size_t life, std::uint64_t value, Moment begun) {
  if (lives[life].freed < begun) violated(fmt::format("segment {} was freed, and written", life));
  is_known({life, value & UINT32_MAX});
}

void MemoryCourse::is_known(WriteName name) {
  const Moment moment = now();
  while (name.life != kNoMoment) {
    Life::Write& write = lives[name.life].writes[name.number];
    write.known = std::min(write.known, moment);
    name = write.after;
  }
}

bool MemoryCourse::follows(WriteName later, WriteName earlier) const {
  while (later.life != kNoMoment) {
    later = lives[later.life].writes[later.number].after;
    if (later.life == earlier.life && later.number == earlier.number) return true;
  }
  return false;
}

void MemoryCourse::read(std::size_t life, std::span<const std::uint64_t> found, Moment begun,
                        bool told) {
  const Life& of = lives[life];
  const std::uint64_t value = found[0];
  if (!std::ranges::all_of(found, [&](std::uint64_t word) { return word == value; })) {
    return violated(fmt::format("parts of two writes of segment {} were read", life));
  }
  const std::uint64_t number = value & UINT32_MAX;
  if ((value != 0 && value >> kSegmentShift != life + 1) || number >= of.writes.size()) {
    return violated(
        fmt::format("segment {} was read as {:x}, which nobody has written there", life, value));
  }
  const Life::Write& seen = of.writes[number];
  if (told && of.freed < begun) violated(fmt::format("segment {} was freed, and read", life));
  // Whoever begins after a write is known to be executed comes after it.
  for (std::size_t i = 0; told && i < of.writes.size(); ++i) {
    if (of.writes[i].known < begun &&
        (of.writes[i].begun > seen.known || follows({life, i}, {life, number}))) {
      violated(
          fmt::format("segment {} was read as of write {}, where write {} was", life, number, i));
    }
  }
  is_known({life, number});
}

void MemoryCourse::added(Counter& counter, std::uint64_t found, std::uint64_t done) {
  ++counter.done;
  counted(counter, found, done);
  if (found >= counter.begun) return violated("a counter has counted what nobody has added");
  counter.found.resize(std::max<std::size_t>(counter.found.size(), found + 1));
  if (counter.found[found]) violated(fmt::format("two have added to a counter at {}", found));
  counter.found[found] = true;
}

void MemoryCourse::counted(const Counter& counter, std::uint64_t found, std::uint64_t done) {
  if (found < done || found > counter.begun) {
    violated(fmt::format("a counter is {}, where {} to {} were added", found, done, counter.begun));
  }
}

}  // namespace simulate
