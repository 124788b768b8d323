// SPDX-License-Identifier: MIT
// Tables without memory, tables that may not grow, other types, and entries of unusual sizes.
#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Table = HashTable<std::uint64_t, std::uint64_t>;
using Texts = HashTable<std::string, std::string>;

/// Inserts until the first kFull of each home, then looks whether all that was inserted is there.
void fill_up(dsfabric::Thread& self, const Options& options) {
  Table table(self, options);
  if (self.id().process.value == 0) {
    std::vector<std::uint64_t> in;
    bool full[2] = {};
    for (std::uint64_t key = 0; !full[0] || !full[1]; ++key) {
      const std::uint32_t home = detail::home_of(detail::hash_of(&key, 1), 2);
      require(key < 100'000, "a small table is full at some time");
      const Status status = table.insert(key, key);
      if (status == Status::kDone) in.push_back(key);
      if (status == Status::kFull) full[home] = true;
      require(status == Status::kDone || status == Status::kFull, "an insert");
    }
    require(in.size() > 10, "it held something");
    for (const std::uint64_t key : in) require(table.find(key) == key, "nothing is lost");
    // A slot that is free again may be used again.
    in.resize(10);
    for (const std::uint64_t key : in) {
      require(table.remove(key) == Status::kDone, "a removal");
      require(table.insert(key, 1) == Status::kDone, "an insert of a key that was there");
    }
  }
  self.barrier();
  require(table.detail().home().invariant(), "the directory is right");
  self.barrier();
}

}  // namespace

TEST_CASE("a_home_without_memory_answers_full_and_loses_nothing") {
  support::in_every_mode({}, [](auto& self) { fill_up(self, {.bytes = 8 << 10, .buckets = 2}); });
  support::in_every_mode({}, [](auto& self) {
    fill_up(self, {.mode = Mode::kByCall, .bytes = 8 << 10, .buckets = 2});
  });
}

TEST_CASE("a_table_that_may_not_grow_answers_full") {
  support::in_every_mode({}, [](auto& self) {
    fill_up(self, {.growth = Growth::kNone, .bytes = 1 << 20, .buckets = 2});
  });
  support::in_every_mode({}, [](auto& self) {
    fill_up(self, {.growth = Growth::kChain, .bytes = 8 << 10, .buckets = 2});
  });
}

TEST_CASE("keys_of_length_0_and_of_64_KiB_are_keys") {
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    support::in_every_mode({}, [mode](dsfabric::Thread& self) {
      Texts table(self, {.mode = mode, .bytes = 4 << 20});
      const bool first = self.id().process.value == 0;
      const std::string large(64 << 10, 'k');
      std::string other = large;
      other.back() = 'l';
      const std::string value(64 << 10, 'v');
      if (first) {
        require(table.insert("", "empty") == Status::kDone, "the key of length 0");
        require(table.insert("", "again") == Status::kExists, "it is a key like others");
        require(table.insert(large, value) == Status::kDone, "a key of 64 KiB");
        require(table.insert("nothing", "") == Status::kDone, "a value of length 0");
        const std::string error =
            support::error_text([&] { (void)table.insert(value + value, value); });
        require(error.find("raise Options::max_entry") != std::string::npos, error.c_str());
      }
      self.barrier();
      require(table.find("") == "empty", "found");
      require(table.find(large) == value, "found");
      require(!table.find(other), "another key of 64 KiB");
      require(table.find("nothing") == "", "an empty value is a value");
      self.barrier();
      if (!first) {
        require(table.update(large, "short") == Status::kDone, "an update");
        require(table.remove("") == Status::kDone, "a removal");
        require(table.remove("") == Status::kMissing, "once");
      }
      self.barrier();
      require(table.find(large) == "short", "the new value");
      int seen = 0;
      table.for_each([&](const std::string&, const std::string&) { ++seen; });
      require(seen == 2, "what is left");
      self.barrier();
    });
  }
}

TEST_CASE("keys_with_the_same_hash_are_told_apart_by_their_bytes") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    Texts table(self, {.bytes = 4 << 20});
    table.detail().collide();
    self.barrier();
    const std::string mine = std::to_string(self.id().process.value);
    for (int i = 0; i < 8; ++i) {
      const std::string key = mine + "." + std::to_string(i);
      require(table.insert(key, key) == Status::kDone, "an insert");
      require(table.insert(key, key) == Status::kExists, "an insert");
    }
    self.barrier();
    for (int i = 0; i < 8; ++i) {
      const std::string key = std::to_string(1 - self.id().process.value) + "." + std::to_string(i);
      require(table.find(key) == key, "found");
    }
    self.barrier();
    for (int i = 0; i < 8; ++i) {
      const std::string key = mine + "." + std::to_string(i);
      if (i % 2 == 0) {
        require(table.remove(key) == Status::kDone, "a removal");
      } else {
        require(table.update(key, "new") == Status::kDone, "an update");
      }
      require(table.find(key) == (i % 2 == 0 ? std::nullopt : std::optional<std::string>("new")),
              "what is there");
    }
    self.barrier();
    int seen = 0;
    table.for_each([&](const std::string&, const std::string& value) { seen += value == "new"; });
    require(seen == 8, "all keys");
    self.barrier();
  });
}

TEST_CASE("pieces_of_removed_entries_are_free_again") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    Texts table(self, {.bytes = 1 << 20});
    const std::uint64_t before = table.detail().home().pieces();
    self.barrier();
    if (self.id().process.value == 0) {
      for (int round = 0; round < 40; ++round) {  // more than would fit at once
        const std::string key = std::to_string(round % 5);
        require(table.insert(key, std::string(60'000, 'a')) == Status::kDone, "an insert");
        require(table.update(key, std::string(30'000, 'b')) == Status::kDone, "an update");
        require(table.remove(key) == Status::kDone, "a removal");
      }
    }
    self.barrier();
    require(table.detail().home().pieces() == before, "all memory is free");
    self.barrier();
  });
}

TEST_CASE("pieces_of_refused_entries_are_free_again") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    Texts table(self, {.growth = Growth::kNone, .bytes = 1 << 20, .buckets = 2});
    const bool first = self.id().process.value == 0;
    std::vector<std::string> refused;
    for (int i = 0; first && refused.size() < 50; ++i) {
      const std::string key = std::to_string(i);
      if (table.insert(key, key) == Status::kFull) refused.push_back(key);
    }
    self.barrier();
    const std::uint64_t before = table.detail().home().pieces();
    self.barrier();
    for (const std::string& key : refused) {
      require(table.insert(key, "refused") == Status::kFull, "it is full still");
    }
    self.barrier();
    require(table.detail().home().pieces() == before, "what was refused takes no memory");
    self.barrier();
  });
}

TEST_CASE("tables_of_other_types_or_options_refuse_each_other") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    const bool first = self.id().process.value == 0;
    const auto text = [&](auto make) { return support::error_text(make); };
    const std::string types =
        first ? text([&] { Table table(self); })
              : text([&] { HashTable<std::uint64_t, std::uint32_t> table(self); });
    require(types.find("made a table of other types than worker 0.0") != std::string::npos,
            types.c_str());
    for (const Options& other :
         {Options{.buckets = 32}, Options{.bytes = 8 << 20}, Options{.max_entry = 64 << 10},
          Options{.growth = Growth::kChain}, Options{.mode = Mode::kByCall}}) {
      const std::string options = text([&] { Texts table(self, first ? Options{} : other); });
      require(options.find("other options than worker 0.0") != std::string::npos, options.c_str());
    }
    self.barrier();
    Table table(self);  // and nothing is broken
    require(table.insert(self.id().process.value, 1) == Status::kDone, "an insert");
    self.barrier();
  });
}

TEST_CASE("a_part_that_is_too_small_for_its_buckets_is_refused") {
  support::in_every_mode({.processes = 1}, [](dsfabric::Thread& self) {
    const std::string error =
        support::error_text([&] { Table table(self, {.bytes = 4096, .buckets = 64}); });
    require(error.find("raise Options::bytes") != std::string::npos, error.c_str());
    const std::string kept = support::error_text(
        [&] { Table table(self, {.mode = Mode::kCached, .cached = 0xffff'ffff}); });
    require(kept.find("too many entries") != std::string::npos, kept.c_str());
    for (const std::size_t bytes : {std::size_t{8} << 32, (std::size_t{8} << 32) + 1, SIZE_MAX}) {
      const std::string too_large =
          support::error_text([&] { Table table(self, {.bytes = bytes}); });
      require(too_large.find("Options::bytes") != std::string::npos, too_large.c_str());
    }
    const std::string buckets =
        support::error_text([&] { Table table(self, {.buckets = 0xffff'ffff}); });
    require(buckets.find("lower Options::buckets") != std::string::npos, buckets.c_str());
    for (const std::size_t largest : {SIZE_MAX / 2, SIZE_MAX - 20, SIZE_MAX}) {
      const std::string entry =
          support::error_text([&] { Texts table(self, {.max_entry = largest}); });
      require(entry.find("raise Options::bytes") != std::string::npos, entry.c_str());
    }
  });
}
