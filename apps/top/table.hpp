// SPDX-License-Identifier: MIT
// A job as lines of text, for a terminal of any width.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job.hpp"

namespace top {

/// What a total grew by in a second since `before`; nothing for levels, new counters, and those
/// that were set back.
std::optional<double> rate_of(const Job& before, const Job& now, std::size_t process,
                              std::size_t figure);

/// The lines: the sums of all processes, then each process with its counters. None is longer than
/// `width` bytes, if that is not 0; where the table would be, each process has a line of its own,
/// and where names and numbers would be, each of them has. Numbers are never cut: `#` stands where
/// they have no room; text that is cut ends with ~. All of it is visible ASCII, with ? for the
/// rest. Only counters whose names contain `filter`.
std::vector<std::string> table(const Job& job, const Job& before, std::uint64_t pid,
                               std::size_t width, std::string_view filter);

/// As many of the lines as a screen of so many rows has, if that is not 0; the last one then says
/// how many are missing, if there are more than two rows.
void cut(std::vector<std::string>& lines, std::size_t rows, std::size_t width);

}  // namespace top
