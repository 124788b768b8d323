// SPDX-License-Identifier: MIT
// The command line by CLI11.
#include "common/command_line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "dsfabric/config.hpp"
#include "dtutils/error.hpp"

namespace common {

std::optional<int> read_settings(int& argc, char** argv, dsfabric::Config& config) {
  try {
    config = dsfabric::configure(argc, argv, std::move(config));
    return std::nullopt;
  } catch (const dtutils::Error& error) {
    const std::string_view path = argv[0];
    fmt::print(stderr, "{}: {}\n", path.substr(path.rfind('/') + 1), error.what());
    return 2;
  }
}

struct CommandLine::Parser {
  explicit Parser(const std::string& description) : app(description) {}
  CLI::App app;
  std::vector<std::string>* command = nullptr;
};

CommandLine::CommandLine(const std::string& description)
    : parser_(std::make_unique<Parser>(description)) {}

CommandLine::~CommandLine() = default;

CommandLine& CommandLine::option(const std::string& name, std::uint64_t& value,
                                 const std::string& help, std::uint64_t min, std::uint64_t max) {
  CLI::Option* const option = parser_->app.add_option(name, value, help);
  if (min != 0 || max != UINT64_MAX) option->check(CLI::Range(min, max));
  option->capture_default_str();
  return *this;
}

CommandLine& CommandLine::option(const std::string& name, std::string& value,
                                 const std::string& help,
                                 std::initializer_list<const char*> choices) {
  CLI::Option* const option = parser_->app.add_option(name, value, help);
  if (choices.size() != 0) {
    option->check(CLI::IsMember(std::vector<std::string>(choices.begin(), choices.end())));
  }
  if (!value.empty()) option->capture_default_str();
  return *this;
}

CommandLine& CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  parser_->app.add_flag(name, value, help);
  return *this;
}

CommandLine& CommandLine::command(std::vector<std::string>& words) {
  parser_->app.prefix_command();
  parser_->command = &words;
  return *this;
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
    if (parser_->command != nullptr) {
      *parser_->command = parser_->app.remaining();
      if (!parser_->command->empty() && parser_->command->front().starts_with('-')) {
        throw CLI::ExtrasError({parser_->command->front()});
      }
    }
  } catch (const CLI::ParseError& error) {
    return parser_->app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

std::optional<int> CommandLine::parse(int argc, char** argv, dsfabric::Config& config) {
  if (const auto status = read_settings(argc, argv, config)) return status;
  parser_->app.footer(dsfabric::describe_settings());
  return parse(argc, argv);
}

}  // namespace common
