// SPDX-License-Identifier: MIT
// The command line of a program under apps/, without the headers of the library that reads it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dsfabric {
struct Config;
}  // namespace dsfabric

namespace common {

/// Reads the settings of the library, from the environment and the arguments --cariama-..., which
/// it takes out of `argv` (dsfabric::configure). They override those of `config`. Empty: the
/// program goes on. 2: one is wrong, which stderr has been told in a line that names it, and the
/// program ends with this exit status.
std::optional<int> read_settings(int& argc, char** argv, dsfabric::Config& config);

/// Options are declared one by one, each with the variable that it sets; parse() sets those that
/// were given. A variable's value at the declaration is its default, which --help shows where it is
/// a number or a text with choices. The variables outlive the CommandLine. One thread.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// `name` begins with "--" (an option), or does not (the next argument without a name).
  /// A number from `min` to `max`.
  CommandLine& option(const std::string& name, std::uint64_t& value, const std::string& help,
                      std::uint64_t min = 0, std::uint64_t max = UINT64_MAX);
  /// A text; one of `choices`, unless there are none.
  CommandLine& option(const std::string& name, std::string& value, const std::string& help,
                      std::initializer_list<const char*> choices = {});
  /// True when it is given.
  CommandLine& flag(const std::string& name, bool& value, const std::string& help);
  /// The first argument that is none of these, which does not begin with "-", and all after it.
  CommandLine& command(std::vector<std::string>& words);

  /// Empty: the program goes on. Otherwise help or an error has been printed, and the program ends
  /// with this exit status: 0 after help, 2 for a wrong command line.
  std::optional<int> parse(int argc, char** argv);
  /// read_settings(), then the same; --help lists the settings, too.
  std::optional<int> parse(int argc, char** argv, dsfabric::Config& config);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace common
