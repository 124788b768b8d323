// SPDX-License-Identifier: MIT
// Text form of the adversarial mode's settings.
#include "dtutils/adversary.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

#include "dtutils/error.hpp"

namespace dtutils {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view part, std::string_view problem) {
  throw Error(fmt::format("adversary settings \"{}\"", text),
              fmt::format("\"{}\" {}", part, problem),
              "write a seed, such as 7, or \"seed=7,delay=50,rnr=16,break=0,kill=0\", or \"off\"");
}

}  // namespace

std::optional<Adversary> parse_adversary(std::string_view text) {
  if (text.empty() || text == "0" || text == "off") return std::nullopt;

  Adversary adversary;
  std::set<std::string_view> seen;
  const auto number = [&](std::string_view part, std::string_view digits, std::uint64_t limit) {
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || stop != end || failure == std::errc::invalid_argument) {
      refuse(text, part, "is not a number of decimal digits");
    }
    if (failure == std::errc::result_out_of_range || value > limit) {
      refuse(text, part, fmt::format("is larger than {}", limit));
    }
    return value;
  };

  constexpr std::uint64_t k64 = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t k32 = std::numeric_limits<std::uint32_t>::max();
  for (std::string_view rest = text;;) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t equals = part.find('=');
    const bool bare = equals == std::string_view::npos;
    const std::string_view key = bare ? "seed" : part.substr(0, equals);
    const std::string_view digits = bare ? part : part.substr(equals + 1);
    if (key == "seed") {
      adversary.seed = number(part, digits, k64);
    } else if (key == "delay") {
      adversary.max_delay_us = static_cast<std::uint32_t>(number(part, digits, k32));
    } else if (key == "rnr") {
      adversary.rnr_every = static_cast<std::uint32_t>(number(part, digits, k32));
    } else if (key == "break") {
      adversary.break_after = number(part, digits, k64);
    } else if (key == "kill") {
      adversary.kill_after = number(part, digits, k64);
    } else {
      refuse(text, part, "has none of the keys seed, delay, rnr, break, kill");
    }
    if (!seen.insert(key).second) refuse(text, part, "sets the same key a second time");
    if (part.size() == rest.size()) return adversary;
    rest.remove_prefix(part.size() + 1);
  }
}

std::string to_string(const Adversary& adversary) {
  return fmt::format("seed={},delay={},rnr={},break={},kill={}", adversary.seed,
                     adversary.max_delay_us, adversary.rnr_every, adversary.break_after,
                     adversary.kill_after);
}

}  // namespace dtutils
