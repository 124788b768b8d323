// SPDX-License-Identifier: MIT
// What travels becomes bytes and the same value again; bytes that lie become an error.
#include "dsfabric/travels.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

using namespace dsfabric;

namespace {

struct Person {
  std::string name;
  std::vector<int> years;
  friend bool operator==(const Person&, const Person&) = default;
};

/// Not inline: g++ 12 with -O3 takes the size for one that it is not for this value, and warns.
template <class T>
[[gnu::noinline]] std::size_t packed_size(const T& value) {
  Packer counted(nullptr);
  counted(value);
  return counted.size();
}
template <class T>
std::vector<std::byte> pack(const T& value) {
  std::vector<std::byte> bytes(packed_size(value));
  Packer out(bytes.data());
  out(value);
  CHECK(out.size() == bytes.size());
  return bytes;
}

template <class T>
void check_round_trip(const T& value) {
  const std::vector<std::byte> bytes = pack(value);
  Unpacker in(bytes);
  CHECK(in.value<T>() == value);
  CHECK(in.left() == 0);
}

}  // namespace

template <>
struct dsfabric::Travels<Person> {
  static void pack(Packer& out, const Person& person) { out(person.name, person.years); }
  static Person unpack(Unpacker& in) {
    auto name = in.value<std::string>();
    return {std::move(name), in.value<std::vector<int>>()};
  }
};

TEST_CASE("what_travels_comes_back_as_it_was") {
  check_round_trip(7);
  check_round_trip(std::array<double, 3>{1, 2, 3});
  check_round_trip(std::string());
  check_round_trip(std::string("with a \0 inside", 15));
  check_round_trip(std::vector<std::uint16_t>{1, 2, 3});
  check_round_trip(std::vector<int>());
  check_round_trip(std::vector<bool>{true, false, true});
  check_round_trip(std::vector<std::string>{"a", "", "bcd"});
  check_round_trip(std::optional<int>());
  check_round_trip(std::optional<std::string>("here"));
  check_round_trip(std::pair<int, std::string>(4, "four"));
  check_round_trip(std::tuple<int, std::vector<std::string>, char>(1, {"x"}, 'c'));
  check_round_trip(std::array<std::string, 2>{"one", "two"});
  check_round_trip(std::vector<Person>{{"Ada", {1815, 1852}}, {"", {}}});
}

TEST_CASE("what_names_memory_of_a_process_does_not_travel") {
  CHECK_FALSE(Travelling<int*>);
  CHECK_FALSE(Travelling<const char*>);
  CHECK_FALSE(Travelling<std::string_view>);
  CHECK_FALSE(Travelling<std::span<int>>);
  CHECK_FALSE(Travelling<std::reference_wrapper<int>>);
  CHECK_FALSE(Travelling<std::unique_ptr<int>>);
  CHECK_FALSE(Travelling<std::vector<int*>>);
  CHECK_FALSE(Travelling<std::optional<int*>>);
  CHECK_FALSE(Travelling<std::pair<int, std::string_view>>);
  CHECK_FALSE(Travelling<std::function<void()>>);
}

TEST_CASE("lengths_that_lie_are_noticed_before_they_are_believed") {
  using Nested = std::tuple<std::vector<std::string>, std::vector<std::uint64_t>>;
  const std::vector<std::byte> right = pack(Nested{{"ab", "cde"}, {1, 2, 3}});
  // A length in front of nothing: no element can be there.
  const std::uint32_t huge = 0xffff'ffff;
  std::array<std::byte, sizeof huge> lie;
  std::memcpy(lie.data(), &huge, sizeof huge);
  const auto unpack_lie = [&]<class T>(T*) {
    Unpacker in(lie);
    (void)in.value<T>();
  };
  CHECK_THROWS_AS(unpack_lie(static_cast<std::string*>(nullptr)), CorruptBytes);
  CHECK_THROWS_AS(unpack_lie(static_cast<std::vector<int>*>(nullptr)), CorruptBytes);
  CHECK_THROWS_AS(unpack_lie(static_cast<std::vector<std::string>*>(nullptr)), CorruptBytes);
  // Each shorter piece lacks something.
  for (std::size_t size = 0; size < right.size(); ++size) {
    Unpacker in(std::span<const std::byte>(right.data(), size));
    CHECK_THROWS_AS(in.value<Nested>(), CorruptBytes);
  }
}

TEST_CASE("random_bytes_never_leave_what_arrived") {
  const std::uint64_t seed = support::test_seed();
  INFO("seed " << seed);
  support::Random random(seed);
  using Everything = std::tuple<std::optional<std::string>, std::vector<Person>, std::vector<bool>>;
  for (int round = 0; round < 20'000; ++round) {
    // On the heap and exact, so that a sanitizer sees each step outside.
    std::vector<std::byte> bytes(random.below(64));
    for (std::byte& each : bytes) {
      each = static_cast<std::byte>(random.below(4) == 0 ? random.below(256) : random.below(4));
    }
    try {
      Unpacker in(bytes);
      (void)in.value<Everything>();
    } catch (const CorruptBytes&) {
    }
  }
}
