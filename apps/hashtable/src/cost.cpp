// SPDX-License-Identifier: MIT
// The cost model's formulas, and its tables as text and JSON.
#include "hashtable/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "figures.hpp"

namespace hashtable::cost {
namespace {

/// A look at a block whose slots are all taken.
double full_look(const Basics& basics) noexcept { return std::max(basics.look, basics.crowded); }

/// What a look at the first block takes more than one at its first slot.
double other_slots(const Basics& basics, const Load& load) noexcept {
  return load.factor * (full_look(basics) - basics.look);
}

/// What an insert takes.
double insert(const Basics& basics, const Load& load) noexcept {
  const double first = (1 - load.factor) * basics.claim;
  const double other =
      std::max(load.factor - load.full, 0.0) * (basics.taken + other_slots(basics, load));
  const double without_room = first + other + load.further * full_look(basics);
  // The inserts between two that ask for room are as many as chance has it.
  const double asleep = std::exp(-basics.awake * load.full / without_room);
  // Where other programs compute, waking may take less than a call that has lost its core.
  const double waking = asleep * std::max(basics.block_asleep - basics.block, 0.0);
  return without_room + load.full * (basics.block + waking);
}

}  // namespace

double expect(Operation operation, Mode mode, const Basics& basics, double hit_rate,
              const Load& load) noexcept {
  if (mode == Mode::kAutomatic) {
    mode = cheaper(operation, basics, hit_rate, load);
  }
  if (mode == Mode::kByCall) return basics.call + (1 + load.chained) * basics.hit;
  const double search = other_slots(basics, load) + load.chained * full_look(basics);
  switch (operation) {
    case Operation::kInsert:
      return insert(basics, load);
    case Operation::kUpdate:
    case Operation::kInsertOrAssign:
      return basics.change + basics.write + search;
    case Operation::kRemove:
      return basics.change + search;
    case Operation::kFind:
      break;
  }
  if (mode != Mode::kCached) return basics.look + search;
  return hit_rate * basics.kept + (1 - hit_rate) * (basics.missed + search);
}

/// Of one bucket. With more the chains are longer, and their shape is the same.
constexpr double kMostKeys = 1e6;

Load chaining(double taken, std::uint32_t slots) noexcept {
  Load load;
  const double keys = std::min(taken * slots, kMostKeys);
  if (!(keys > 0)) return load;
  // Of a bucket with `n` keys; beyond these numbers hardly any bucket has as many.
  const auto most = static_cast<std::uint32_t>(keys + 12 * std::sqrt(keys) + 12);
  double chained = 0;
  for (std::uint32_t n = 0; n <= most; ++n) {
    const double likely = std::exp(n * std::log(keys) - keys - std::lgamma(n + 1.0));
    load.factor += likely * std::min(n, slots) / slots;
    if (n != 0 && n % slots == 0) load.full += likely;
    if (n != 0) load.further += likely * ((n - 1) / slots);
    chained += likely * (n - std::min(n, slots));
  }
  load.chained = chained / keys;
  return load;
}

Mode cheaper(Operation operation, const Basics& basics, double hit_rate,
             const Load& load) noexcept {
  return expect(operation, Mode::kByCall, basics, hit_rate, load) <
                 expect(operation, Mode::kOneSided, basics, hit_rate, load)
             ? Mode::kByCall
             : Mode::kOneSided;
}

std::string to_text(const Costs& costs) {
  std::string text = fmt::format("{:<18} {:>10} {:>14}\n", "operation", "alone, ns", "all, ns");
  for (const Figure& figure : kFigures) {
    text += fmt::format("{:<18} {:>10.1f} {:>14.1f}\n", figure.name, costs.alone.*figure.value,
                        costs.all.*figure.value);
  }
  return text;
}

std::string to_json(const Costs& costs) {
  std::string text = "{";
  for (const bool alone : {true, false}) {
    text += fmt::format("{}\"{}\": {{", alone ? "" : ", ", alone ? "alone" : "all");
    const Basics& basics = alone ? costs.alone : costs.all;
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      text += fmt::format("{}\"{}_ns\": {:.2f}", i == 0 ? "" : ", ", kFigures[i].name,
                          basics.*kFigures[i].value);
    }
    text += "}";
  }
  return text + "}\n";
}

}  // namespace hashtable::cost
