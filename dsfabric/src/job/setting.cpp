// SPDX-License-Identifier: MIT
// The table of settings.
#include "job/setting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <stdexcept>
#include <type_traits>

#include "dtutils/parse_number.hpp"

namespace dsfabric {
namespace {

template <class T>
T number(std::string_view text, T min, T max) {
  if (const auto value = dtutils::parse_number<T>(text, min, max)) return *value;
  throw std::invalid_argument(fmt::format("a number from {} to {}", min, max));
}

std::size_t size(std::string_view text) {
  std::size_t factor = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
      case 'k':
        factor = std::size_t{1} << 10;
        break;
      case 'M':
      case 'm':
        factor = std::size_t{1} << 20;
        break;
      case 'G':
      case 'g':
        factor = std::size_t{1} << 30;
        break;
      default:
        break;
    }
  }
  try {
    return factor * number<std::size_t>(factor == 1 ? text : text.substr(0, text.size() - 1), 0,
                                        std::numeric_limits<std::size_t>::max() / factor);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument("a size such as 4096, 64K, 16M or 1G");
  }
}

bool on_or_off(std::string_view text) {
  if (text == "1" || text == "on" || text == "true") {
    return true;
  }
  if (text == "0" || text == "off" || text == "false") {
    return false;
  }
  throw std::invalid_argument("1, 0, on, off, true or false");
}

std::vector<std::uint16_t> nodes(std::string_view text) {
  std::vector<std::uint16_t> all;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    all.push_back(number<std::uint16_t>(text.substr(0, comma), 0, 4095));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return all;
}

/// The setting of one member, read according to its type.
template <auto Member>
Setting member(std::string_view name, std::string_view meaning) {
  using Value = std::remove_reference_t<decltype(std::declval<Config&>().*Member)>;
  return {name, meaning,
          [](Config& config, std::string_view text) {
            Value& value = config.*Member;
            if constexpr (std::is_same_v<Value, std::string>) {
              value = text;
            } else if constexpr (std::is_same_v<Value, bool>) {
              value = on_or_off(text);
            } else if constexpr (std::is_same_v<Value, std::size_t>) {
              value = size(text);
            } else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
              value = std::chrono::milliseconds(number<std::int64_t>(text, 1, 86'400'000));
            } else if constexpr (std::is_same_v<Value, std::int32_t>) {
              value = number<std::int32_t>(text, -1, 65'535);
            } else if constexpr (std::is_same_v<Value, std::uint32_t>) {
              value = number<std::uint32_t>(text, 0, 65'535);
            } else {
              value = nodes(text);
            }
          },
          [](const Config& config) {
            const Value& value = config.*Member;
            if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
              return fmt::format("{}", value.count());
            } else if constexpr (std::is_same_v<Value, std::vector<std::uint16_t>>) {
              return fmt::format("{}", fmt::join(value, ","));
            } else {
              return fmt::format("{}", value);
            }
          }};
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      member<&Config::device>("device", "shm, mlx5_0, ..., or auto"),
      member<&Config::port>("port", "port of the device, from 1; 0: the first active one"),
      member<&Config::gid_index>("gid_index", "index into the GID table; -1: the best one"),
      member<&Config::alone>("alone", "a job of one process, no matter what started it"),
      member<&Config::elastic>("elastic", "processes that may come to be; 0: they are fixed"),
      member<&Config::threads>("threads", "workers of this process; 0: its share of the cores"),
      member<&Config::service_threads>("service_threads", "threads that serve when workers do not"),
      member<&Config::outside_threads>("outside_threads", "other threads that may send at once"),
      member<&Config::pin>("pin", "pin workers to cores when there are enough"),
      member<&Config::zones>("zones", "NUMA nodes to run in and take memory from, as 0,1"),
      member<&Config::queue_pairs>("queue_pairs", "queue pairs to a process; 0: by its workers"),
      member<&Config::max_connections>("max_connections", "to other processes; 0: by the device"),
      member<&Config::send_depth>("send_depth", "requests outstanding on one; 0: as needed"),
      member<&Config::receive_depth>("receive_depth", "receive buffers posted at once"),
      member<&Config::receive_size>("receive_size", "bytes of one: the largest message"),
      member<&Config::receive_limit>("receive_limit", "bytes of all: then senders wait"),
      member<&Config::superpage>("superpage", "bytes taken from the system at once"),
      member<&Config::memory_limit>("memory_limit", "registered bytes in a zone at most"),
      member<&Config::start_timeout>("start_timeout", "milliseconds to wait for others at start"),
      member<&Config::leave_timeout>("leave_timeout", "milliseconds to wait for others at the end"),
      member<&Config::watch_interval>("watch_interval",
                                      "milliseconds between checks that peers live"),
  };
  return all;
}

}  // namespace dsfabric
