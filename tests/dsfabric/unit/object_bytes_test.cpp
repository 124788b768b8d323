// SPDX-License-Identifier: MIT
// Objects that travel: nothing of what was in their memory before leaves the process.
#include "dsfabric/detail/object_bytes.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "dsfabric/standard_travels.hpp"
#include "support/catch.hpp"

using dsfabric::detail::ObjectBytes;
using dsfabric::detail::put_object;

namespace {

struct Gaps {
  std::uint8_t first;
  std::uint64_t second;
  std::uint16_t third;
};
struct Nested {
  Gaps gaps;
  bool last;
};
struct NoGaps {
  std::uint32_t first;
  std::uint32_t second;
};

/// Made in memory that holds `fill`.
template <class T>
struct Made {
  Made(unsigned char fill, const T& value) {
    std::memset(memory, fill, sizeof memory);
    object = new (memory) T;
    assign(*object, value);
  }
  static void assign(Gaps& to, const Gaps& from) {
    to.first = from.first;
    to.second = from.second;
    to.third = from.third;
  }
  static void assign(Nested& to, const Nested& from) {
    assign(to.gaps, from.gaps);
    to.last = from.last;
  }
  alignas(T) unsigned char memory[sizeof(T)];
  T* object;
};

template <class T>
std::array<std::byte, sizeof(T)> bytes_of(unsigned char fill, const T& value) {
  const Made<T> made(fill, value);
  alignas(T) std::array<std::byte, sizeof(T)> bytes;
  put_object(bytes.data(), *made.object);
  return bytes;
}

}  // namespace

TEST_CASE("equal_objects_travel_as_equal_bytes") {
  const Gaps gaps{1, 2, 3};
  CHECK(bytes_of(0x55, gaps) == bytes_of(0xaa, gaps));
  CHECK(bytes_of(0x55, gaps) != bytes_of(0x55, Gaps{1, 2, 4}));
  const Nested nested{gaps, true};
  CHECK(bytes_of(0x55, nested) == bytes_of(0xaa, nested));
  // A callable that captures them.
  std::array<std::array<std::byte, 32>, 2> calls{};
  for (const unsigned char fill : {0x55, 0xaa}) {
    const Made<Gaps> made(fill, gaps);
    const auto call = [captured = *made.object, flag = true] { return captured.third + flag; };
    static_assert(sizeof call == sizeof calls[0]);
    put_object(calls[fill == 0xaa].data(), call);
  }
  CHECK(calls[0] == calls[1]);
}

TEST_CASE("bytes_of_an_object_are_the_object") {
  const Made<Nested> made(0xff, {{7, 8, 9}, true});
  const ObjectBytes<Nested> bytes(*made.object);
  Nested copy;
  REQUIRE(bytes.span().size() == sizeof copy);
  std::memcpy(static_cast<void*>(&copy), bytes.data(), sizeof copy);
  CHECK(copy.gaps.first == 7);
  CHECK(copy.gaps.second == 8);
  CHECK(copy.gaps.third == 9);
  CHECK(copy.last);
  // What has no gaps is not copied.
  const NoGaps whole{1, 2};
  CHECK(ObjectBytes<NoGaps>(whole).data() == &whole);
}

TEST_CASE("packed_values_have_no_old_bytes") {
  std::array<std::array<std::byte, 128>, 2> packed{};
  for (const unsigned char fill : {0x55, 0xaa}) {
    const Made<Gaps> made(fill, {1, 2, 3});
    dsfabric::Packer out(packed[fill == 0xaa].data());
    out(*made.object, std::vector<Gaps>{*made.object, *made.object});
    CHECK(out.size() == 3 * sizeof(Gaps) + 4);
  }
  CHECK(packed[0] == packed[1]);
}
