// SPDX-License-Identifier: MIT
// Where settings come from: the environment, then the command line.
#include "dsfabric/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "dtutils/error.hpp"
#include "job/setting.hpp"

namespace dsfabric {
namespace {

constexpr std::string_view kPrefix = "--cariama-";

std::string variable_of(std::string_view name) {
  std::string variable = "CARIAMA_";
  for (const char c : name) {
    variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

void read(const Setting& setting, Config& config, std::string_view text,
          const std::string& origin) {
  try {
    setting.read(config, text);
  } catch (const std::invalid_argument& wanted) {
    throw dtutils::Error(origin, fmt::format("cannot read \"{}\"", text),
                         fmt::format("give {}", wanted.what()));
  }
}

const Setting& find(std::string_view name) {
  std::string wanted(name);
  // --cariama-receive-size is accepted as well.
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  const auto found = std::find_if(settings().begin(), settings().end(),
                                  [&](const Setting& one) { return one.name == wanted; });
  if (found == settings().end()) {
    std::vector<std::string_view> names;
    for (const Setting& one : settings()) {
      names.push_back(one.name);
    }
    throw dtutils::Error(fmt::format("argument {}{}", kPrefix, name), "there is no such setting",
                         fmt::format("use one of {}", fmt::join(names, ", ")));
  }
  return *found;
}

/// Longer times overflow where they are counted in nanoseconds.
constexpr std::chrono::milliseconds kLongestTime = std::chrono::years(1);

}  // namespace

Config configure(Config base) {
  for (const auto time : {&Config::start_timeout, &Config::leave_timeout, &Config::watch_interval})
    base.*time = std::min(base.*time, kLongestTime);
  for (const Setting& setting : settings()) {
    const std::string variable = variable_of(setting.name);
    if (const char* const text = std::getenv(variable.c_str())) {
      read(setting, base, text, "environment variable " + variable);
    }
  }
  return base;
}

Config configure(int& argc, char** argv, Config base) {
  Config config = configure(std::move(base));
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (i == 0 || !argument.starts_with(kPrefix)) {
      argv[kept++] = argv[i];
      continue;
    }
    const std::string origin = fmt::format("argument {}", argument);
    argument.remove_prefix(kPrefix.size());
    const std::size_t equals = argument.find('=');
    const Setting& setting = find(argument.substr(0, equals));
    if (equals != std::string_view::npos) {
      read(setting, config, argument.substr(equals + 1), origin);
    } else if (i + 1 < argc) {
      read(setting, config, argv[++i], origin);
    } else {
      throw dtutils::Error(origin, "its value is missing",
                           fmt::format("write {}={}", origin.substr(9), setting.show(config)));
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  return config;
}

std::string describe_settings() {
  const Config defaults;
  std::string text =
      "Settings of the library, as --cariama-NAME=VALUE, or CARIAMA_NAME in the environment:\n";
  for (const Setting& setting : settings()) {
    text +=
        fmt::format("  {:<16} {:<10} {}\n", setting.name, setting.show(defaults), setting.meaning);
  }
  return text;
}

}  // namespace dsfabric
