// SPDX-License-Identifier: MIT
// Command line by CLI11.
#include "bench/harness/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <regex>

namespace bench {

Options parse_options(const std::string& program, const std::string& description,
                      const std::vector<std::string>& arguments,
                      const std::vector<OwnOption>& own) {
  Options options;
  CLI::App app(description, program);
  app.add_flag("--list", options.list, "Print the cases and run none");
  app.add_option("--filter", options.filter, "Run only cases whose name/size matches")
      ->type_name("REGEX");
  CLI::Option* runs = app.add_option("--runs", options.runs,
                                     fmt::format("Rounds a figure rests on, at least {}", kMinRuns))
                          ->capture_default_str();
  CLI::Option* batch_ms =
      app.add_option("--batch-ms", options.batch_ms, "Length of one batch in milliseconds")
          ->check(CLI::PositiveNumber)
          ->capture_default_str();
  app.add_option("--near", options.near.round_trip_ns,
                 "Cache-line round trips below this are near, in ns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--far", options.near.far,
               "Measure on cores that are not near each other; exits with 77 when there are none");
  app.add_option("--core-speed", options.near.core_speed,
                 "Cores below this share of their best speed are not near")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--patience", options.patience_s,
                 "Seconds to wait in all for the machine to become near, or far with --far")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--json", options.json, "Also write the report to this file")->type_name("FILE");
  CLI::Option* check =
      app.add_flag("--check", options.check, "Fail when a bar is missed or cannot be judged");
  app.add_flag("--smoke", options.smoke, "Run everything briefly; the figures mean nothing")
      ->excludes(check);
  for (const OwnOption& option : own) {
    app.add_option(option.flag, *option.value, option.help)->capture_default_str();
  }

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    std::regex{options.filter};
  } catch (const CLI::CallForHelp&) {
    throw UsageExit(0, app.help());
  } catch (const CLI::ParseError& error) {
    throw UsageExit(2,
                    fmt::format("{}: {}\nRun with --help for the options.", program, error.what()));
  } catch (const std::regex_error& error) {
    throw UsageExit(2, fmt::format("{}: --filter {}: {}", program, options.filter, error.what()));
  }

  if (options.smoke) {
    if (runs->count() == 0) options.runs = kSmokeRuns;
    if (batch_ms->count() == 0) options.batch_ms = kSmokeBatchMs;
    options.patience_s = 0;
  }
  if (options.runs < (options.smoke ? 1 : kMinRuns)) {
    throw UsageExit(2, fmt::format("{}: --runs {}: at least {} are needed for a median", program,
                                   options.runs, options.smoke ? 1 : kMinRuns));
  }
  return options;
}

}  // namespace bench
