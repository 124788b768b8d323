// SPDX-License-Identifier: MIT
// Records: run in order when they are right, refused when anything about them cannot be.
#include "dsfabric/detail/call_record.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "dsfabric/callable.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace dsfabric;
using dsfabric::detail::FunctionTable;
using dsfabric::detail::kRecordAlign;
using dsfabric::detail::record_size;
using dsfabric::detail::RecordHeader;

namespace {

std::vector<std::uint64_t>& ran() {
  static std::vector<std::uint64_t> numbers;
  return numbers;
}

struct Note {
  std::uint64_t number;
  void operator()() const { ran().push_back(number); }
};
struct NoteBuffer {
  std::uint32_t factor;
  void operator()(CallContext&, const std::byte* buffer, std::uint32_t bytes) const {
    ran().push_back(std::uint64_t{factor} * bytes + (bytes != 0 ? std::uint64_t(buffer[0]) : 0));
  }
};

class Records {
 public:
  template <class F>
  Records& add(const F& function, std::uint32_t extra = 0, std::byte fill = {}) {
    const std::uint32_t bytes = sizeof(F) + extra;
    (void)FunctionTable::instance();
    const RecordHeader header{function_index<F>(), bytes};
    const std::size_t at = bytes_.size();
    bytes_.resize(at + record_size(bytes), fill);
    std::memcpy(&bytes_[at], &header, sizeof header);
    std::memcpy(&bytes_[at + sizeof header], &function, sizeof function);
    return *this;
  }
  bool run() { return run(bytes_.size()); }
  bool run(std::size_t size) {
    // In memory of exactly this size, so that a sanitizer sees reads beyond it.
    std::vector<std::uint64_t> exact((size + 7) / 8);
    auto* begin = reinterpret_cast<std::byte*>(exact.data());
    std::copy_n(bytes_.data(), size, begin);
    // No callable here looks at the fabric.
    alignas(8) static std::byte no_fabric[8];
    CallContext context{reinterpret_cast<Fabric&>(no_fabric), {}, nullptr};
    ran().clear();
    return run_records({begin, size}, context);
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  RecordHeader& header(std::size_t at = 0) { return *reinterpret_cast<RecordHeader*>(&bytes_[at]); }

 private:
  std::vector<std::byte> bytes_;
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("records_run_in_their_order") {
  CHECK(Records().add(Note{1}).add(NoteBuffer{10}, 3, std::byte{5}).add(Note{2}).run());
  CHECK(ran() == Numbers{1, 35, 2});
}

TEST_CASE("no_records_are_right") {
  CHECK(Records().run());
  CHECK(ran().empty());
}

TEST_CASE("record_sizes_are_multiples_of_eight") {
  for (std::uint32_t bytes = 0; bytes < 100; ++bytes) {
    CHECK(record_size(bytes) % kRecordAlign == 0);
    CHECK(record_size(bytes) >= sizeof(RecordHeader) + bytes);
    CHECK(record_size(bytes) < sizeof(RecordHeader) + bytes + kRecordAlign);
  }
}

TEST_CASE("last_record_may_come_without_its_padding") {
  Records records;
  records.add(NoteBuffer{10}, 1, std::byte{5});
  CHECK(records.run(sizeof(RecordHeader) + sizeof(NoteBuffer) + 1));
  CHECK(ran() == Numbers{15});
}

TEST_CASE("function_outside_the_table_is_refused") {
  Records records;
  records.add(Note{1}).add(Note{2});
  records.header(16).function = FunctionTable::instance().size();
  CHECK_FALSE(records.run());
  CHECK(ran() == Numbers{1});
  records.header(16).function = 0xffff'ffff;
  CHECK_FALSE(records.run());
}

TEST_CASE("record_shorter_than_its_callable_is_refused") {
  Records records;
  records.add(Note{1});
  records.header().bytes = sizeof(Note) - 1;
  CHECK_FALSE(records.run());
  CHECK(ran().empty());
}

TEST_CASE("record_longer_than_what_arrived_is_refused") {
  for (const std::uint32_t bytes : {9u, 4096u, 0x7fff'ffffu, 0xffff'fff8u, 0xffff'ffffu}) {
    Records records;
    records.add(Note{1});
    records.header().bytes = bytes;
    CHECK_FALSE(records.run());
    CHECK(ran().empty());
  }
}

TEST_CASE("record_cut_anywhere_is_refused") {
  Records records;
  records.add(Note{1}).add(Note{2});
  for (std::size_t size = 17; size < records.bytes().size(); ++size) {
    CHECK_FALSE(records.run(size));
    CHECK(ran() == Numbers{1});
  }
}

TEST_CASE("random_headers_never_reach_beyond_the_message") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  // Only these two may be named, so that what runs is known to be harmless.
  const std::uint32_t functions[] = {function_index<Note>(), function_index<NoteBuffer>(),
                                     FunctionTable::instance().size(), 0xffff'ffff};
  for (int round = 0; round < 20'000; ++round) {
    Records records;
    records.add(Note{1}).add(NoteBuffer{1}, static_cast<std::uint32_t>(random() % 40)).add(Note{2});
    for (std::size_t at = 0; at + sizeof(RecordHeader) <= records.bytes().size(); at += 8) {
      if (random() % 2 == 0) {
        records.header(at) = {functions[random() % 4],
                              static_cast<std::uint32_t>(random() >> (random() % 64))};
      }
    }
    records.run(random() % (records.bytes().size() + 1));
  }
}
