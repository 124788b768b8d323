// SPDX-License-Identifier: MIT
// Invariants of the workload memory.
#include "memory_course.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simulate {
namespace {

/// Of a value, from where the number of the segment begins.
constexpr unsigned kSegmentShift = 32;

bool has_crashed(std::uint32_t node) { return dtutils::Simulation::current()->crashed(node); }

}  // namespace

MemoryCourse::MemoryCourse(std::uint32_t nodes, std::uint32_t workers_of_a_node)
    : rounds(std::size_t{nodes} * workers_of_a_node),
      finished(std::size_t{nodes} * workers_of_a_node),
      over(nodes),
      workers_of_a_node_(workers_of_a_node),
      fabrics_(nodes) {}

void MemoryCourse::ends(const dsfabric::Fabric& fabric) {
  fabrics_[fabric.process().value] = nullptr;
  over[fabric.process().value] = true;
}

bool MemoryCourse::believes_failed(std::uint32_t node, std::uint32_t other) const {
  const dsfabric::Fabric* const fabric = fabrics_[node];
  return fabric != nullptr && fabric->failed({static_cast<std::uint16_t>(other)});
}

bool MemoryCourse::disturbed() const {
  for (std::uint32_t node = 0; node < fabrics_.size(); ++node) {
    if (has_crashed(node)) return true;
    if (fabrics_[node] != nullptr && fabrics_[node]->failures() != 0) return true;
  }
  return false;
}

bool MemoryCourse::given_up(std::uint32_t node) const {
  if (has_crashed(node)) return true;
  for (std::uint32_t other = 0; other < fabrics_.size(); ++other) {
    if (believes_failed(other, node)) return true;
  }
  return false;
}

bool MemoryCourse::is_told(std::uint32_t node, std::uint32_t home) const {
  return !has_crashed(home) && fabrics_[home] != nullptr && !believes_failed(home, node);
}

bool MemoryCourse::unfinished(const dsfabric::Fabric& of, std::uint32_t but) const {
  for (std::uint32_t worker = 0; worker < finished.size(); ++worker) {
    const std::uint32_t node = worker / workers_of_a_node_;
    if (worker != but && !finished[worker] && !over[node] && !has_crashed(node) &&
        !of.failed({static_cast<std::uint16_t>(node)})) {
      return true;
    }
  }
  return false;
}

std::uint64_t MemoryCourse::begin_write(std::size_t life) {
  std::vector<Life::Write>& writes = lives[life].writes;
  writes.push_back({now(), kNoMoment});
  return std::uint64_t{life + 1} << kSegmentShift | (writes.size() - 1);
}

void MemoryCourse::wrote(std::size_t life, std::uint64_t value, Moment begun) {
  if (lives[life].freed < begun) violated(fmt::format("segment {} was freed, and written", life));
  Life::Write& write = lives[life].writes[value & UINT32_MAX];
  write.known = std::min(write.known, now());
}

void MemoryCourse::read(std::size_t life, std::span<const std::uint64_t> found, Moment begun,
                        bool told) {
  Life& of = lives[life];
  const std::uint64_t value = found[0];
  if (!std::ranges::all_of(found, [&](std::uint64_t word) { return word == value; })) {
    return violated(fmt::format("parts of two writes of segment {} were read", life));
  }
  const std::uint64_t number = value & UINT32_MAX;
  if ((value != 0 && value >> kSegmentShift != life + 1) || number >= of.writes.size()) {
    return violated(
        fmt::format("segment {} was read as {:x}, which nobody has written there", life, value));
  }
  Life::Write& seen = of.writes[number];
  if (told && of.freed < begun) violated(fmt::format("segment {} was freed, and read", life));
  // Whoever begins after a write is known to be executed comes after it.
  for (std::size_t i = 0; told && i < of.writes.size(); ++i) {
    if (of.writes[i].begun > seen.known && of.writes[i].known < begun) {
      violated(
          fmt::format("segment {} was read as of write {}, where write {} was", life, number, i));
    }
  }
  seen.known = std::min(seen.known, now());
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
