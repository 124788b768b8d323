// SPDX-License-Identifier: MIT
// The cost model's formulas, and its tables as text and JSON.
#include "hashtable/cost.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace hashtable::cost {
namespace {

struct Row {
  std::string_view name;
  double Basics::*figure;
};
constexpr std::array<Row, 14> kRows{{{"write", &Basics::write},
                                     {"read_word", &Basics::read_word},
                                     {"read", &Basics::read},
                                     {"compare_and_swap", &Basics::compare_and_swap},
                                     {"fetch_and_add", &Basics::fetch_and_add},
                                     {"claim", &Basics::claim},
                                     {"alter", &Basics::alter},
                                     {"call", &Basics::call},
                                     {"service", &Basics::service},
                                     {"wake", &Basics::wake},
                                     {"lock", &Basics::lock},
                                     {"hit", &Basics::hit},
                                     {"entry", &Basics::entry},
                                     {"keep", &Basics::keep}}};

/// Nanoseconds that a service thread looks for messages before it sleeps, about.
constexpr double kStaysAwake = 3'000;

/// What an insert takes.
double insert(const Basics& basics, const Load& load) noexcept {
  const double look = basics.read + basics.hit;
  const double claimed =
      basics.entry + (1 - load.factor) * basics.claim +
      load.factor * (basics.compare_and_swap + basics.alter + basics.hit + basics.write) +
      load.chained * look;
  // The inserts between two that ask for room are as many as chance has it.
  const double asleep = std::exp(-kStaysAwake * load.full / claimed);
  const double room = basics.service + asleep * (basics.wake - basics.service);
  return claimed + load.full * (room + 2 * basics.read_word + look);
}

}  // namespace

double expect(Operation operation, Mode mode, const Basics& basics, double hit_rate,
              const Load& load) noexcept {
  if (mode == Mode::kAutomatic) {
    mode = cheaper(operation, basics, hit_rate, load);
  }
  double miss = 0;
  if (mode == Mode::kByCall) {
    miss = basics.call + (1 + load.chained) * basics.hit;
  } else {
    const double look = basics.read + basics.hit;
    const double chain = load.chained * look;
    const double change = basics.alter + basics.hit;
    switch (operation) {
      case Operation::kFind:
        miss = look + chain;
        break;
      case Operation::kInsert:
        miss = insert(basics, load);
        break;
      case Operation::kUpdate:
        miss = change + basics.write + chain;
        break;
      case Operation::kRemove:
        miss = change + chain;
        break;
    }
  }
  if (operation != Operation::kFind || mode != Mode::kCached) return miss;
  return basics.keep + hit_rate * (basics.read_word + basics.hit) + (1 - hit_rate) * miss;
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
  for (const Row& row : kRows) {
    text += fmt::format("{:<18} {:>10.1f} {:>14.1f}\n", row.name, costs.alone.*row.figure,
                        costs.all.*row.figure);
  }
  return text;
}

std::string to_json(const Costs& costs) {
  std::string text = "{";
  for (const bool alone : {true, false}) {
    text += fmt::format("{}\"{}\": {{", alone ? "" : ", ", alone ? "alone" : "all");
    const Basics& basics = alone ? costs.alone : costs.all;
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      text += fmt::format("{}\"{}_ns\": {:.2f}", i == 0 ? "" : ", ", kRows[i].name,
                          basics.*kRows[i].figure);
    }
    text += "}";
  }
  return text + "}\n";
}

}  // namespace hashtable::cost
