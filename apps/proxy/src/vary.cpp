// SPDX-License-Identifier: MIT
// Builds keys.
#include "proxy/vary.hpp"

#include <algorithm>
#include <vector>

#include "proxy/text.hpp"

namespace proxy {

std::string_view without_default_port(std::string_view host) noexcept {
  for (const std::string_view port : {":80", ":"}) {
    if (host.ends_with(port)) return host.substr(0, host.size() - port.size());
  }
  return host;
}

void make_key(const Request& request, std::string& key) {
  key.clear();
  for (const char c : without_default_port(request.host)) key.push_back(lower(c));
  key.append(request.root()).append(request.path);
}

std::string key_of_reference(std::string_view reference, std::string_view key) {
  reference = reference.substr(0, reference.find('#'));
  const std::string_view host = key.substr(0, key.find('/'));
  constexpr std::string_view kScheme = "http:", kHost = "//";
  if (same_text(reference.substr(0, kScheme.size()), kScheme)) {
    reference.remove_prefix(kScheme.size());
  }
  if (reference.substr(0, kHost.size()) == kHost) {
    reference.remove_prefix(kHost.size());
    const std::size_t end = std::min(reference.find_first_of("/?"), reference.size());
    if (!same_text(without_default_port(reference.substr(0, end)), host)) return {};
    reference.remove_prefix(end);
    const char* const root = reference.substr(0, 1) == "/" ? "" : "/";
    return std::string(host).append(root).append(reference);
  }
  if (reference.empty() || reference.substr(0, 1) == "/") {
    return reference.empty() ? std::string() : std::string(host).append(reference);
  }
  // Of another scheme.
  if (reference.find(':') < reference.find_first_of("/?")) return {};
  std::string_view base = key.substr(0, key.find('?'));
  if (reference.front() != '?') base = base.substr(0, base.rfind('/') + 1);
  return std::string(base).append(reference);
}

std::string vary_names(const Fields& response) {
  if (!response.has(FieldId::kVary)) return {};
  std::vector<std::string> names;
  for (const Field& field : response) {
    if (field.id != FieldId::kVary) continue;
    std::string_view rest = field.value, name;
    while (next_element(rest, name)) {
      if (name == "*") return "*";
      names.emplace_back(name);
      for (char& c : names.back()) c = lower(c);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::string variant_key(std::string_view key, std::uint64_t generation, std::string_view names,
                        const Fields& request) {
  // No key and no value has a line feed.
  std::string result(key);
  result.push_back('\n');
  append_decimal(result, generation);
  std::string_view name;
  while (next_element(names, name)) {
    result.append("\n").append(name).append(":");
    for (const Field& field : request) {
      if (same_text(field.name, name)) result.append(field.value).append(",");
    }
  }
  return result;
}

}  // namespace proxy
