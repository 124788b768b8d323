// SPDX-License-Identifier: MIT
// Reads the three forms of dates, and writes the first.
#include "proxy/http_date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "proxy/text.hpp"

namespace proxy {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
/// A year of two digits is not further than this in the future.
constexpr int kMaxYearsAhead = 50;

/// Takes a word off the front, up to any of `ends`, which it removes too.
std::string_view take(std::string_view& rest, std::string_view ends) noexcept {
  const std::size_t end = rest.find_first_of(ends);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

struct Date {
  std::string_view day, month, year, hour, minute, second;
};

std::optional<std::int64_t> number(std::string_view text, std::size_t digits) noexcept {
  if (text.size() != digits) return std::nullopt;
  const auto value = parse_decimal(text);
  if (!value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::int64_t> full_year(std::string_view text, std::int64_t now) noexcept {
  if (text.size() == 4) return number(text, 4);
  const auto two = number(text, 2);
  if (!two) return std::nullopt;
  const std::chrono::year_month_day today{
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(now)))};
  const int this_year = static_cast<int>(today.year());
  std::int64_t year = this_year / 100 * 100 + *two;
  if (year > this_year + kMaxYearsAhead) year -= 100;
  return year;
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) noexcept {
  Date date;
  std::string_view rest = text;
  const bool comma = text.find(',') != std::string_view::npos;
  (void)take(rest, comma ? "," : " ");
  rest = trim(rest);
  if (comma) {  // "06 Nov 1994 08:49:37 GMT" or "06-Nov-94 08:49:37 GMT"
    date.day = take(rest, " -");
    date.month = take(rest, " -");
    date.year = take(rest, " ");
  } else {  // "Nov  6 08:49:37 1994"
    date.month = take(rest, " ");
    rest = trim(rest);
    date.day = take(rest, " ");
  }
  date.hour = take(rest, ":");
  date.minute = take(rest, ":");
  date.second = take(rest, " ");
  if (comma ? rest != "GMT" : false) return std::nullopt;
  if (!comma) date.year = rest;
  const auto month = std::find(kMonths.begin(), kMonths.end(), date.month);
  const auto day = number(date.day, !comma && date.day.size() == 1 ? 1 : 2);
  const auto year = full_year(date.year, now);
  const auto hour = number(date.hour, 2), minute = number(date.minute, 2);
  const auto second = number(date.second, 2);
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day ymd{
      std::chrono::year(static_cast<int>(*year)),
      std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  // A leap second is the next one.
  if (!ymd.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(ymd).time_since_epoch().count();
  return (static_cast<std::int64_t>(days) * 24 + *hour) * 3600 + *minute * 60 + *second;
}

std::string format_http_date(std::int64_t seconds) {
  const std::chrono::sys_seconds at{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const auto in_day = (at - day).count();
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), in_day / 3600, in_day / 60 % 60, in_day % 60);
}

}  // namespace proxy
