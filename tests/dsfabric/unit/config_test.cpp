// SPDX-License-Identifier: MIT
// Settings: where they come from, who wins, and how bad ones are refused.
#include "dsfabric/config.hpp"

#include <string>
#include <vector>

#include "dsfabric/support/environment_variable.hpp"
#include "dtutils/error.hpp"
#include "job/setting.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using dsfabric::Config;
using dsfabric::configure;
using support::EnvironmentVariable;

namespace {

/// A command line as main() gets it.
struct Arguments {
  explicit Arguments(std::vector<std::string> words) : text(std::move(words)) {
    for (std::string& one : text) pointers.push_back(one.data());
    count = static_cast<int>(text.size());
    pointers.push_back(nullptr);
  }
  std::vector<std::string> text;
  std::vector<char*> pointers;
  int count;
};

}  // namespace

TEST_CASE("environment_wins_over_code") {
  const EnvironmentVariable threads("CARIAMA_THREADS", "3");
  Config base;
  base.threads = 7;
  base.queue_pairs = 2;
  const Config config = configure(base);
  CHECK(config.threads == 3);
  CHECK(config.queue_pairs == 2);
}

TEST_CASE("command_line_wins_over_environment") {
  const EnvironmentVariable threads("CARIAMA_THREADS", "3");
  Arguments line({"program", "--cariama-threads=5"});
  CHECK(configure(line.count, line.pointers.data()).threads == 5);
}

TEST_CASE("command_line_keeps_what_is_the_programs_own") {
  Arguments line({"program", "-x", "--cariama-receive-size", "8K", "file", "--cariama-pin=off"});
  const Config config = configure(line.count, line.pointers.data());
  CHECK(config.receive_size == 8192);
  CHECK_FALSE(config.pin);
  REQUIRE(line.count == 3);
  CHECK(std::string(line.pointers[1]) == "-x");
  CHECK(std::string(line.pointers[2]) == "file");
  CHECK(line.pointers[3] == nullptr);
}

TEST_CASE("values_of_every_type_are_read") {
  Arguments line({"program", "--cariama-zones=0,2", "--cariama-start-timeout=1500",
                  "--cariama-superpage=1G", "--cariama-gid-index=-1", "--cariama-device=mlx5_0"});
  const Config config = configure(line.count, line.pointers.data());
  CHECK(config.zones == std::vector<std::uint16_t>{0, 2});
  CHECK(config.start_timeout == std::chrono::milliseconds(1500));
  CHECK(config.superpage == std::size_t{1} << 30);
  CHECK(config.gid_index == -1);
  CHECK(config.device == "mlx5_0");
}

TEST_CASE("environment_variable_that_is_no_number_is_quoted") {
  const EnvironmentVariable threads("CARIAMA_THREADS", "many");
  const std::string text = support::error_text([] { configure(); });
  CHECK(text.find("CARIAMA_THREADS") != std::string::npos);
  CHECK(text.find("\"many\"") != std::string::npos);
}

TEST_CASE("values_out_of_range_are_refused") {
  for (const char* bad : {"--cariama-threads=-1", "--cariama-threads=1x",
                          "--cariama-threads=", "--cariama-receive-size=4Q",
                          "--cariama-pin=perhaps", "--cariama-zones=1,x",
                          "--cariama-start-timeout=0", "--cariama-threads=99999999999999999999"}) {
    Arguments line({"program", bad});
    CAPTURE(bad);
    CHECK_THROWS_AS(configure(line.count, line.pointers.data()), dtutils::Error);
  }
}

TEST_CASE("unknown_argument_lists_the_settings") {
  Arguments line({"program", "--cariama-thread=1"});
  const std::string text =
      support::error_text([&] { configure(line.count, line.pointers.data()); });
  CHECK(text.find("--cariama-thread") != std::string::npos);
  CHECK(text.find("service_threads") != std::string::npos);
}

TEST_CASE("argument_without_value_is_refused") {
  Arguments line({"program", "--cariama-threads"});
  CHECK_THROWS_AS(configure(line.count, line.pointers.data()), dtutils::Error);
}

TEST_CASE("every_setting_reads_what_it_shows") {
  const Config defaults;
  for (const dsfabric::Setting& setting : dsfabric::settings()) {
    CAPTURE(setting.name);
    Config config;
    setting.read(config, setting.show(defaults));
    CHECK(setting.show(config) == setting.show(defaults));
    CHECK(dsfabric::describe_settings().find(setting.name) != std::string::npos);
  }
}
