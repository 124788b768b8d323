// SPDX-License-Identifier: MIT
// Figures of a run as JSON, without the headers of the library that writes it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace common {

struct Figure;
/// What becomes one JSON object.
using Figures = std::vector<Figure>;

/// A number, a text, an object or an array of objects, by its name.
struct Figure {
  std::string name;
  std::variant<std::uint64_t, double, std::string, Figures, std::vector<Figures>> value;
};

/// Writes one object to the file `path`, which it replaces. Throws dtutils::Error when that fails.
void write_json(const std::string& path, const Figures& figures);
/// An array of objects, indented by two spaces.
std::string json_array(const std::vector<Figures>& objects);

}  // namespace common
