// SPDX-License-Identifier: MIT
// What may be called, and what the compiler says about the rest.
#include "dsfabric/callable.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "dsfabric/call_context.hpp"
#include "support/catch.hpp"
#include "support/job.hpp"
#include "support/matchers.hpp"

using namespace dsfabric;

namespace {

struct ByReference {
  int& there;
  void operator()() const;
};
struct Virtual {
  virtual void run();
  void operator()();
};
struct alignas(16) Aligned {
  void operator()() const;
};
struct Large {
  std::array<char, kMaxCallable + 1> bytes;
  void operator()() const;
};

/// What the compiler has to say about a source; empty when it is content.
std::string compile(const std::filesystem::path& source) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  const auto result = support::run_job(
      {"c++", "-std=c++20", "-fsyntax-only", "-I" + (root / "dsfabric/include").string(),
       "-I" + (root / "dtutils/include").string(), source.string()},
      {.environment = {"LC_ALL=C"}, .input = {}, .limit = std::chrono::seconds(50)});
  return result.status == 0 ? "" : "error: " + result.err;
}

std::filesystem::path folder() {
  return std::filesystem::path(__FILE__).parent_path() / "../compile_fail";
}

/// In the first line that the compiler prints of an error.
void expect_refusal(const std::string& name) {
  const auto source = folder() / (name + ".cpp");
  std::ifstream file(source);
  std::string line, expected;
  while (std::getline(file, line)) {
    if (line.starts_with("// expected: ")) expected = line.substr(13);
  }
  REQUIRE_FALSE(expected.empty());
  const std::string said = compile(source);
  const std::size_t first = said.find("error: ", 1);
  INFO("all of it: " << said);
  REQUIRE(first != std::string::npos);
  CHECK_THAT(said.substr(first, said.find('\n', first) - first), support::contains(expected));
}

}  // namespace

TEST_CASE("callables_are_plain_bytes") {
  const int number = 0;
  const auto by_value = [number] { (void)number; };
  const auto by_reference = [&number] { (void)number; };
  CHECK(RemoteCallable<decltype(by_value)>);
  CHECK_FALSE(RemoteCallable<decltype(by_reference)>);
  CHECK_FALSE(RemoteCallable<ByReference>);
  CHECK_FALSE(RemoteCallable<Virtual>);
  CHECK_FALSE(RemoteCallable<Aligned>);
  CHECK_FALSE(RemoteCallable<Large>);
  CHECK_FALSE(RemoteCallable<std::string>);
  CHECK_FALSE(RemoteCallable<std::unique_ptr<int>>);
  CHECK_FALSE(RemoteCallable<void (*)()>);
  CHECK_FALSE(RemoteCallable<void (&)()>);
  CHECK_FALSE(RemoteCallable<void()>);
  CHECK_FALSE(RemoteCallable<void (Virtual::*)()>);
  CHECK_FALSE(RemoteCallable<decltype(std::ref(by_value))>);
}

TEST_CASE("right_program_compiles") { CHECK(compile(folder() / "right.cpp") == ""); }
TEST_CASE("capture_by_reference_is_refused_in_words") { expect_refusal("reference_capture"); }
TEST_CASE("pointer_to_a_function_is_refused_in_words") { expect_refusal("function_pointer"); }
TEST_CASE("reference_wrapper_is_refused_in_words") { expect_refusal("reference_wrapper"); }
TEST_CASE("captured_string_is_refused_in_words") { expect_refusal("string_capture"); }
TEST_CASE("large_capture_is_refused_in_words") { expect_refusal("large_capture"); }
TEST_CASE("result_that_is_no_plain_data_is_refused_in_words") { expect_refusal("string_result"); }
TEST_CASE("callable_with_unknown_arguments_is_refused_in_words") {
  expect_refusal("wrong_arguments");
}
TEST_CASE("argument_that_is_a_pointer_is_refused_in_words") { expect_refusal("pointer_argument"); }
TEST_CASE("argument_that_cannot_travel_is_refused_in_words") {
  expect_refusal("argument_that_cannot_travel");
}
TEST_CASE("arguments_that_do_not_fit_the_callable_are_refused_in_words") {
  expect_refusal("arguments_that_do_not_fit");
}
TEST_CASE("result_that_cannot_travel_is_refused_in_words") {
  expect_refusal("result_that_cannot_travel");
}
TEST_CASE("result_that_is_a_pointer_is_refused_in_words") { expect_refusal("pointer_result"); }
TEST_CASE("registration_without_arguments_is_refused_in_words") {
  expect_refusal("register_without_arguments");
}
TEST_CASE("slot_of_another_type_is_refused_in_words") { expect_refusal("slot_of_another_type"); }
