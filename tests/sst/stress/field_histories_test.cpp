// SPDX-License-Identifier: MIT
// Fields of every kind and size, whole and in order in what readers saw, on all kinds of devices.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "sst/support/histories.hpp"

using namespace sst;
using support::require;

namespace {

/// N bytes that follow from a number, which is in the first eight.
template <std::size_t N>
struct Blob {
  std::array<std::uint8_t, N> bytes;

  static Blob of(std::uint64_t number) {
    Blob blob;
    for (std::size_t i = 0; i < N; ++i) {
      blob.bytes[i] = static_cast<std::uint8_t>(number * 31 + i * 7);
    }
    std::memcpy(blob.bytes.data(), &number, sizeof number);
    return blob;
  }
  /// Fails if it is not whole. All zeros are number 0, as a row is at first.
  std::uint64_t number() const {
    std::uint64_t number;
    std::memcpy(&number, bytes.data(), sizeof number);
    require(bytes == (number == 0 ? Blob{} : of(number)).bytes, "a Versioned is whole");
    return number;
  }
};

struct KindsRow {
  std::uint64_t last;
  std::uint16_t halves[3];
  std::uint8_t byte;
  std::uint32_t words[3];
  double real;
  Versioned<Blob<9>> wide9;
  Versioned<Blob<33>> wide33;
  Versioned<Blob<48>> wide48;
  Versioned<Blob<24>> wides[2];
  std::uint64_t block[70];
  float single;
};

// In the order of the looks, which is the reverse of that of the pushes.
enum Kind { kWides, kBlock, kWide48, kWide33, kWide9, kReal, kSingle, kWord, kHalf, kByte };
constexpr std::size_t kKinds = kByte + 1;
/// Numbers of rounds as they fit into small fields; most is 3000.
constexpr std::uint64_t half_of(std::uint64_t round) { return round * 20; }
constexpr std::uint64_t byte_of(std::uint64_t round) { return round / 12; }

struct KindsLook {
  std::uint16_t member;
  std::uint64_t last;
  std::array<std::uint64_t, kKinds> seen;
};

void write_kinds(Table<KindsRow>& table, std::uint64_t round, support::Random& random) {
  table.set(&KindsRow::byte, static_cast<std::uint8_t>(byte_of(round)));
  table.set(&KindsRow::halves, 1, static_cast<std::uint16_t>(half_of(round)));
  table.set(&KindsRow::words, 2, static_cast<std::uint32_t>(round));
  table.set(&KindsRow::single, static_cast<float>(round));
  table.set(&KindsRow::real, static_cast<double>(round));
  // Several in one push, in their order.
  table.store(&KindsRow::wide9, Blob<9>::of(round));
  table.store(&KindsRow::wide33, Blob<33>::of(round));
  table.store(&KindsRow::wide48, Blob<48>::of(round));
  table.push(&KindsRow::wide9, &KindsRow::wide33, &KindsRow::wide48);
  for (std::size_t i = 0; i < 70; ++i) table.store(&KindsRow::block, i, round);
  table.push();
  // Values between two pushes, which nobody needs in order to see the next one.
  for (std::uint64_t i = random.below(5); i != 0; --i) {
    table.store(&KindsRow::wides, 0, Blob<24>::of(round * 8 - i));
  }
  table.store(&KindsRow::wides, 0, Blob<24>::of(round * 8));
  table.push(&KindsRow::wides, 0);
  table.set(&KindsRow::last, round);
}

KindsLook look_at_kinds(const Table<KindsRow>& table, MemberId member, std::uint64_t seed,
                        support::Random&) {
  KindsLook look{member.value, table.get(member, &KindsRow::last), {}};
  // The same one all the time: elements of a row that is pushed as a whole arrive in any order.
  const std::size_t at = seed % 70;
  look.seen[kWides] = table.get(member, &KindsRow::wides, 0).number();
  look.seen[kBlock] = table.get(member, &KindsRow::block, at);
  look.seen[kWide48] = table.get(member, &KindsRow::wide48).number();
  look.seen[kWide33] = table.get(member, &KindsRow::wide33).number();
  look.seen[kWide9] = table.get(member, &KindsRow::wide9).number();
  look.seen[kReal] = static_cast<std::uint64_t>(table.get(member, &KindsRow::real));
  look.seen[kSingle] = static_cast<std::uint64_t>(table.get(member, &KindsRow::single));
  look.seen[kWord] = table.get(member, &KindsRow::words, 2);
  look.seen[kHalf] = table.get(member, &KindsRow::halves, 1);
  look.seen[kByte] = table.get(member, &KindsRow::byte);
  return look;
}

void check_kinds(const std::vector<KindsLook>& history, std::size_t members, bool ordered) {
  std::vector<KindsLook> before(members);
  for (const KindsLook& now : history) {
    KindsLook& then = before[now.member];
    require(now.last >= then.last, "`last` does not go back");
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      require(now.seen[kind] >= then.seen[kind],
              "kind " + std::to_string(kind) + " of member " + std::to_string(now.member) +
                  " went back from " + std::to_string(then.seen[kind]) + " to " +
                  std::to_string(now.seen[kind]));
    }
    then = now;
    if (!ordered) continue;
    require(now.seen[kWides] >= now.last * 8 && now.seen[kBlock] * 8 + 8 > now.seen[kWides],
            "the element before `last`, the row before the element");
    for (std::size_t kind = kBlock; kind < kWord; ++kind) {
      require(now.seen[kind + 1] >= now.seen[kind], "fields in the order of their pushes");
    }
    require(
        now.seen[kHalf] >= half_of(now.seen[kWord]) && now.seen[kByte] >= now.seen[kHalf] / 20 / 12,
        "small fields in the order of their pushes");
  }
}

constexpr support::History<KindsRow, KindsLook> kKindsHistory{write_kinds, look_at_kinds,
                                                              check_kinds};

void run_kinds(Mode mode, std::uint64_t rounds, bool adversary) {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  const auto members = static_cast<std::uint32_t>(2 + random.below(3));
  const std::string delay = std::to_string(std::array{5, 50, 400}[random.below(3)]);
  const std::string settings =
      adversary ? "seed=" + std::to_string(1 + random.below(100'000)) + ",delay=" + delay : "";
  support::run_histories(members, kKindsHistory, mode, rounds, seed, settings);
}

}  // namespace

TEST_CASE("histories_of_every_kind_of_field_pushed") { run_kinds(Mode::kWrites, 3'000, false); }

TEST_CASE("histories_of_every_kind_of_field_pushed_on_a_device_that_does_all_it_may") {
  run_kinds(Mode::kWrites, 200, true);
}

TEST_CASE("histories_of_every_kind_of_field_fetched") { run_kinds(Mode::kReads, 3'000, false); }

TEST_CASE("histories_of_every_kind_of_field_fetched_on_a_device_that_does_all_it_may") {
  run_kinds(Mode::kReads, 400, true);
}
