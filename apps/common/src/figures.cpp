// SPDX-License-Identifier: MIT
// JSON by nlohmann-json.
#include "common/figures.hpp"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dtutils/error.hpp"

namespace common {
namespace {

nlohmann::json object_of(const Figures& figures);

nlohmann::json array_of(const std::vector<Figures>& objects) {
  nlohmann::json array = nlohmann::json::array();
  for (const Figures& each : objects) array.push_back(object_of(each));
  return array;
}

nlohmann::json object_of(const Figures& figures) {
  nlohmann::json object = nlohmann::json::object();
  for (const Figure& figure : figures) {
    nlohmann::json& place = object[figure.name];
    if (const auto* inner = std::get_if<Figures>(&figure.value)) {
      place = object_of(*inner);
    } else if (const auto* objects = std::get_if<std::vector<Figures>>(&figure.value)) {
      place = array_of(*objects);
    } else if (const auto* text = std::get_if<std::string>(&figure.value)) {
      place = *text;
    } else if (const auto* number = std::get_if<double>(&figure.value)) {
      place = *number;
    } else {
      place = std::get<std::uint64_t>(figure.value);
    }
  }
  return object;
}

/// Text that is no UTF-8 is shown as U+FFFD.
std::string text_of(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void write_json(const std::string& path, const Figures& figures) {
  std::ofstream file(path);
  file << text_of(object_of(figures), -1) << '\n';
  file.close();
  if (!file) throw dtutils::Error("--json", "cannot write " + path, "name another file", errno);
}

std::string json_array(const std::vector<Figures>& objects) {
  return text_of(array_of(objects), 2);
}

}  // namespace common
