// SPDX-License-Identifier: MIT
// Names of units and cases, and the check of a case.
#include "bench/harness/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/harness/bar.hpp"

namespace bench {

const char* to_string(Unit unit) noexcept {
  switch (unit) {
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kPerSecond:
      return "1/s";
    case Unit::kBytesPerSecond:
      return "B/s";
    case Unit::kBytes:
      return "B";
    case Unit::kRatio:
      break;
  }
  return "ratio";
}

std::string case_id(const Case& item) { return fmt::format("{}/{}", item.name, item.size); }

void check_case(const Case& item) {
  const auto require = [&](bool holds, const std::string& complaint) {
    if (!holds) throw std::invalid_argument(fmt::format("case {}: {}", case_id(item), complaint));
  };
  const auto count_named = [&](const std::string& name) {
    return std::count_if(item.variants.begin(), item.variants.end(),
                         [&](const Variant& variant) { return variant.name == name; });
  };
  const auto check_bar = [&](const std::string& bar) {
    try {
      if (!bar.empty()) Bar{bar};
    } catch (const std::invalid_argument& error) {
      require(false, error.what());
    }
  };

  require(!item.name.empty(), "it has no name");
  require(!item.variants.empty(), "it has no variant");
  require(item.min_iterations >= 1 && item.min_iterations <= item.max_iterations,
          "1 <= min_iterations <= max_iterations does not hold");
  for (const Variant& variant : item.variants) {
    require(variant.measure != nullptr, "variant " + variant.name + " measures nothing");
    require(variant.name != kHalfRoundTrip, "the harness itself measures " + variant.name);
    require(count_named(variant.name) == 1, "two variants are named " + variant.name);
    check_bar(variant.bar);
  }
  for (const Ratio& ratio : item.ratios) {
    require(count_named(ratio.over) == 1, "a ratio of the unknown variant " + ratio.over);
    if (ratio.under == kHalfRoundTrip) {
      require(item.unit == Unit::kNanoseconds, "only ns compare with the cache-line round trip");
    } else {
      require(count_named(ratio.under) == 1, "a ratio to the unknown variant " + ratio.under);
    }
    check_bar(ratio.bar);
  }
}

}  // namespace bench
