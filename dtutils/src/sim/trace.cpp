// SPDX-License-Identifier: MIT
// Trace: JSON.
#include "sim/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "dtutils/error.hpp"

namespace dtutils::sim {
namespace {

/// Times are in microseconds.
std::string microseconds(Time time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

/// In quotes. What is not ASCII may be cut in the middle of a character.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c >= ' ' && c <= '~' ? c : '?';
  }
  return result += '"';
}

}  // namespace

Trace::Trace(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "we")) {
  if (file_ == nullptr) {
    throw Error(fmt::format("trace {}", path), "the file cannot be written",
                "give the path of a file in a folder that you may write to", errno);
  }
}

Trace::~Trace() {
  if (file_ != nullptr) std::fclose(file_);
}

void Trace::write(std::string_view text) noexcept {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_ == 0) {
    error_ = errno != 0 ? errno : EIO;
  }
}

Time Trace::monotone(Place place, Time at) {
  Time& last = tracks_[place].last;
  return last = std::max(last, at);
}

void Trace::head(char what, Place place, Time at) {
  write(fmt::format("{}{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{}", any_ ? ",\n" : "[\n", what,
                    place.node + 1, place.line, microseconds(at)));
  any_ = true;
}

void Trace::named(char what, Place place, Time at, std::string_view kind, std::string_view name) {
  head(what, place, at);
  write(fmt::format(",\"cat\":{},\"name\":{}", quoted(kind), quoted(name)));
}

void Trace::name_node(std::uint32_t node) {
  head('M', {node, 0}, 0);
  write(fmt::format(",\"name\":\"process_name\",\"args\":{{\"name\":\"node {}\"}}}}", node));
  name_line({node, kFaults}, "faults");
  name_line({node, kAdapter}, "adapter");
  name_line({node, kArrivals}, "arrivals");
}

void Trace::name_line(Place place, std::string_view name) {
  head('M', place, 0);
  write(fmt::format(",\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}", quoted(name)));
}

void Trace::span(Place place, Time begin, Time end, std::string_view kind, std::string_view name) {
  const Time from = monotone(place, begin);
  const Time to = monotone(place, end);
  named('X', place, from, kind, name);
  write(fmt::format(",\"dur\":{}}}", microseconds(to - from)));
}

void Trace::span(Place place, Time begin, Time end, std::string_view kind, std::string_view name,
                 std::uint64_t arrow, Arrow way) {
  const Time from = std::max(tracks_[place].last, begin);
  span(place, begin, end, kind, name);
  // It is bound to the span that is there at its time.
  named(static_cast<char>(way), place, from, "arrow", "arrow");
  write(fmt::format(",\"id\":{}{}}}", arrow, way == Arrow::kEnds ? ",\"bp\":\"e\"" : ""));
}

void Trace::instant(Place place, Time at, std::string_view kind, std::string_view name) {
  named('i', place, monotone(place, at), kind, name);
  write(",\"s\":\"t\"}");
}

std::uint64_t Trace::begin(Place place, Time at, std::string_view kind, std::string_view name) {
  named('B', place, monotone(place, at), kind, name);
  write("}");
  tracks_[place].open.push_back({++begun_, std::string(kind), std::string(name)});
  spans_[begun_] = place;
  return begun_;
}

void Trace::end(std::uint64_t span, Time at) {
  const auto found = spans_.find(span);
  if (found == spans_.end()) return;
  const Place place = found->second;
  spans_.erase(found);
  std::vector<Begun>& open = tracks_[place].open;
  const Time now = monotone(place, at);
  const auto mine = std::ranges::find(open, span, &Begun::span);
  // From the innermost one out.
  for (auto left = open.end() - mine; left != 0; --left) {
    head('E', place, now);
    write("}");
  }
  for (auto inner = std::next(mine); inner != open.end(); ++inner) {
    named('B', place, now, inner->kind, inner->name);
    write("}");
  }
  open.erase(mine);
}

std::string Trace::close(Time at) {
  for (auto& [place, track] : tracks_) {
    for (std::size_t left = track.open.size(); left != 0; --left) {
      head('E', place, monotone(place, at));
      write("}");
    }
  }
  write(any_ ? "\n]\n" : "[]\n");
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0) return {};
  return fmt::format("trace {}: the file is not whole: {}", path_, std::strerror(error_));
}

}  // namespace dtutils::sim
