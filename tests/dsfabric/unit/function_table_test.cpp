// SPDX-License-Identifier: MIT
// The table of functions: dense, ordered, comparable, translated by name between programs.
#include "dsfabric/detail/function_table.hpp"

#include <cstring>
#include <set>
#include <string>

#include "calls/call_tables.hpp"
#include "calls/readable_name.hpp"
#include "dsfabric/call_context.hpp"
#include "dsfabric/callable.hpp"
#include "dsfabric/detail/arguments.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dsfabric;
using dsfabric::detail::FunctionTable;
using support::contains;
using support::error_text;

namespace {

struct Ping {
  static constexpr std::string_view kCallName = "test.ping";
  std::uint64_t number;
  void operator()() const {}
};
struct Pong {
  static constexpr std::string_view kCallName = "test.pong";
  void operator()() const {}
};

/// One name for calls with different arguments.
struct Any {
  static constexpr std::string_view kCallName = "test.any";
  template <class T>
  T operator()(T) const {
    return T();
  }
};
template <class T>
using Called = dsfabric::detail::WithPlainArguments<Any, T>;

struct Entry {
  std::string name;
  std::uint64_t named;
  std::uint32_t bytes;
  dsfabric::detail::CodePlace place{1, 2};
};

std::vector<std::byte> describe(const std::vector<Entry>& entries) {
  std::vector<std::byte> bytes;
  const auto put = [&](const void* from, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  for (const Entry& entry : entries) {
    const auto length = static_cast<std::uint32_t>(entry.name.size());
    put(&length, sizeof length);
    put(&entry.bytes, sizeof entry.bytes);
    put(&entry.named, sizeof entry.named);
    put(&entry.place, sizeof entry.place);
    put(entry.name.data(), entry.name.size());
  }
  return bytes;
}

const FunctionTable& table() { return FunctionTable::instance(); }

}  // namespace

TEST_CASE("every_callable_has_an_index_of_its_own_below_the_size") {
  REQUIRE(table().size() >= 4);
  const auto one = [] {};
  const auto other = [] {};
  const std::set<std::uint32_t> indices{function_index<Ping>(), function_index<Pong>(),
                                        function_index<decltype(one)>(),
                                        function_index<decltype(other)>()};
  CHECK(indices.size() == 4);
  CHECK(*indices.rbegin() < table().size());
  for (const std::uint32_t index : indices) CHECK(table().slot(index).index() == index);
}

TEST_CASE("entry_holds_what_the_receiver_checks") {
  CHECK(table().entry(function_index<Ping>()).bytes == sizeof(Ping));
  CHECK(table().entry(function_index<Pong>()).bytes == 1);
  CHECK(table().slot(function_index<Ping>()).name() == "test.ping");
  CHECK(table().slot(function_index<Ping>()).named_by_user());
}

TEST_CASE("calls_of_one_function_with_other_arguments_are_other_functions") {
  // Gives the indices.
  (void)table();
  const std::set<std::uint32_t> indices{
      function_index<Called<int>>(), function_index<Called<float>>(),
      function_index<dsfabric::detail::Returning<Called<int>>>(),
      function_index<dsfabric::detail::Returning<Called<float>>>()};
  CHECK(indices.size() == 4);
  const std::uint32_t of_float = function_index<Called<float>>();
  CHECK(table().slot(of_float).name() == "test.any/v(f)");
  CHECK(table().readable(of_float) == "test.any/v(float)");
  CHECK(table().readable(function_index<dsfabric::detail::Returning<Called<int>>>()) ==
        "test.any/v(int)/r(int)");
  // The program has all of them: a name that comes twice would be a conflict.
  CHECK(table().conflict().empty());
}

TEST_CASE("functions_without_a_name_are_shown_as_the_source_has_them") {
  CHECK(dsfabric::readable_name("N8dsfabric5CallsIiEE", false) == "dsfabric::Calls<int>");
  CHECK(dsfabric::readable_name("no type", false) == "no type");
  // Not "int".
  CHECK(dsfabric::readable_name("i", true) == "i");
}

TEST_CASE("table_does_not_differ_from_itself") {
  CHECK(table().difference(table().describe()).empty());
}

TEST_CASE("first_difference_is_named") {
  const auto mine = table().describe();
  const std::string first = table().readable(0);
  CHECK_THAT(table().difference(describe({{"nobody's", 0, 8}})),
             contains(first) && contains("nobody's") && contains("the same binary"));
  CHECK_THAT(table().difference({}), contains(first) && contains("missing there"));
  auto more = mine;
  const auto extra = describe({{"one.more", 0, 8}});
  more.insert(more.end(), extra.begin(), extra.end());
  CHECK_THAT(table().difference(more), contains("one.more") && contains("missing here"));
}

TEST_CASE("same_names_and_sizes_of_another_build_are_other_functions") {
  // As the linker leaves it when it takes two objects in another order.
  std::vector<Entry> other_build;
  for (std::uint32_t i = 0; i < table().size(); ++i) {
    const dsfabric::detail::FunctionSlot& slot = table().slot(i);
    other_build.push_back({std::string(slot.name()), slot.named_by_user(), slot.bytes()});
  }
  const auto there = describe(other_build);
  CHECK_THAT(table().difference(there), contains("build id") && contains("the same binary"));
  const auto indices = table().translate(there);
  for (std::uint32_t i = 0; i < table().size(); ++i) {
    CHECK(indices[i] == (table().slot(i).named_by_user() ? i : FunctionTable::kAbsent));
  }
}

TEST_CASE("functions_of_a_file_that_both_programs_have_loaded_are_found_without_names") {
  auto there = describe({{"first.there", 1, 1}});
  const auto mine = table().describe();
  there.insert(there.end(), mine.begin(), mine.end());
  const auto indices = table().translate(there);
  for (std::uint32_t i = 0; i < table().size(); ++i) CHECK(indices[i] == i + 1);
}

TEST_CASE("program_without_equal_names_has_no_conflict") { CHECK(table().conflict().empty()); }

TEST_CASE("names_of_users_bridge_two_programs") {
  const auto there = describe({{"other", 1, 4}, {"test.pong", 1, 1}, {"test.ping", 1, 8}});
  const auto indices = table().translate(there);
  REQUIRE(indices.size() == table().size());
  CHECK(indices[function_index<Pong>()] == 1);
  CHECK(indices[function_index<Ping>()] == 2);
}

TEST_CASE("same_name_with_another_size_or_unnamed_is_another_function") {
  const auto there = describe({{"test.ping", 1, 16}, {"test.pong", 0, 1}});
  const auto indices = table().translate(there);
  CHECK(indices[function_index<Ping>()] == FunctionTable::kAbsent);
  CHECK(indices[function_index<Pong>()] == FunctionTable::kAbsent);
}

TEST_CASE("mangled_description_is_survived") {
  auto bytes = describe({{"test.ping", 1, 8}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(table().translate({bytes.data(), size}).size() == table().size());
  }
  const std::uint32_t huge = 0xffff'ffff;
  std::memcpy(bytes.data(), &huge, sizeof huge);
  CHECK(table().translate(bytes).size() == table().size());
}

TEST_CASE("tables_of_a_job_translate_only_where_programs_differ") {
  const auto other = describe({{"test.ping", 1, 8}});
  const CallTables tables(table(), 0, {{}, {}, other});
  CHECK(tables.index_at(1, function_index<Pong>()) == function_index<Pong>());
  CHECK(tables.index_at(2, function_index<Ping>()) == 0);
  CHECK(tables.index_at(2, function_index<Pong>()) == FunctionTable::kAbsent);
}

TEST_CASE("program_without_a_name_in_common_is_refused") {
  const auto other = describe({{"stranger", 1, 8}});
  CHECK_THAT(error_text([&] {
               CallTables(table(), 0, {{}, other});
             }),
             contains("process 1") && contains("another program") && contains("kCallName"));
}
