// SPDX-License-Identifier: MIT
// What may be a row, and what the compiler says about the rest.
#include "sst/row.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "dsfabric/ids.hpp"
#include "support/catch.hpp"
#include "support/job.hpp"
#include "support/matchers.hpp"

using namespace sst;

namespace {

enum class Colour : std::uint8_t { kRed };
struct Point {
  double x, y, z;
};
struct EveryKind {
  int step;
  std::uint64_t count;
  bool ready;
  double load;
  int numbers[1024];
  std::array<std::uint16_t, 3> few;
  Versioned<Point> place;
  Colour colour;
  char name[2][5];
  dsfabric::ThreadId thread;
};
static_assert(RowType<EveryKind>);
static_assert(detail::kFields<EveryKind> == 10);
static_assert(kStride<EveryKind> % kLine == 0 && kStride<EveryKind> >= sizeof(EveryKind));
constexpr auto kOffsets = detail::offsets<EveryKind>();
static_assert(kOffsets[1] == offsetof(EveryKind, count) &&
              kOffsets[4] == offsetof(EveryKind, numbers) &&
              kOffsets[5] == offsetof(EveryKind, few) &&
              kOffsets[6] == offsetof(EveryKind, place) &&
              kOffsets[8] == offsetof(EveryKind, name) &&
              kOffsets[9] == offsetof(EveryKind, thread));

struct Sixteen {
  std::uint8_t a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q;
};
static_assert(RowType<Sixteen> && detail::kFields<Sixteen> == 16);
struct OneBool {
  bool is;
};
static_assert(RowType<OneBool>);

struct WithValues {
  std::uint32_t first = 7;
  double few[2] = {1, 2};
  std::uint8_t letter = 'a';
};
static_assert(RowType<WithValues> && detail::kFields<WithValues> == 3);
struct Aligned {
  std::uint8_t letter;
  alignas(256) std::uint8_t far;
  alignas(2) std::uint8_t near[3];
};
static_assert(RowType<Aligned> && detail::offsets<Aligned>()[1] == offsetof(Aligned, far) &&
              detail::offsets<Aligned>()[2] == offsetof(Aligned, near));

// What rows may be at most takes the compiler no longer than small ones: no look at each byte.
struct Largest {
  std::uint64_t head;
  std::uint8_t bytes[kMaxRow - 16];
  bool tail[8];
};
static_assert(sizeof(Largest) == kMaxRow && RowType<Largest>);
static_assert(detail::offsets<Largest>()[2] == offsetof(Largest, tail));

/// What the compiler has to say about a source; empty when it is content.
std::string compile(const std::filesystem::path& source) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  const auto include = [&](const char* layer) {
    return "-I" + (root / layer / "include").string();
  };
  const auto result = support::run_job(
      {"c++", "-std=c++20", "-fsyntax-only", include("sst"), include("dsfabric"),
       include("dtutils"), source.string()},
      {.environment = {"LC_ALL=C"}, .input = {}, .limit = std::chrono::seconds(50)});
  return result.status == 0 ? "" : "error: " + result.err;
}

}  // namespace

TEST_CASE("bad_rows_are_refused_in_words_that_name_the_field") {
  const auto folder = std::filesystem::path(__FILE__).parent_path() / "../compile_fail";
  for (const char* name : {"crossing", "wide", "pointer", "string", "packed", "two_bytes_too_far",
                           "no_default", "too_large"}) {
    const auto source = folder / (std::string(name) + ".cpp");
    std::ifstream file(source);
    std::string line;
    std::size_t expectations = 0;
    const std::string message = compile(source);
    while (std::getline(file, line)) {
      if (!line.starts_with("// expected: ")) continue;
      CAPTURE(name);
      CHECK_THAT(message, support::contains(line.substr(13)));
      ++expectations;
    }
    CHECK(expectations > 0);
  }
}

TEST_CASE("rows_that_only_differ_in_places_have_other_digests") {
  struct A {
    std::uint32_t x;
    std::uint64_t y;
  };
  struct B {
    std::uint64_t x;
    std::uint32_t y;
  };
  constexpr auto kTwo = std::make_index_sequence<2>();
  CHECK(detail::digest<A>(kTwo) != detail::digest<B>(kTwo));
}
