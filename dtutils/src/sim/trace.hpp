// SPDX-License-Identifier: MIT
// The timeline of a run: Chrome trace events, written while they happen.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/events.hpp"

namespace dtutils::sim {

/// Writes a JSON array of trace events, which chrome://tracing and ui.perfetto.dev open (Google:
/// Trace Event Format). A node is a process there, numbered from 1; its lines are its threads, and
/// those of `Line`. The array may lack its end, as when a run is aborted. What is held in memory is
/// a buffer, and what has begun and not ended.
///
/// Times of a line never go back: what would is put at the time of the last event.
class Trace {
 public:
  /// Lines of a node; its threads come behind them.
  enum Line : std::uint32_t { kFaults = 1, kAdapter, kArrivals, kFirstThread };
  /// Where an event is shown.
  struct Place {
    std::uint32_t node;
    std::uint32_t line;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  /// Which way an arrow goes through a span: it begins, goes on or ends there.
  enum class Arrow : char { kBegins = 's', kGoesOn = 't', kEnds = 'f' };

  /// Throws Error if the file cannot be made.
  explicit Trace(const std::string& path);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  void name_node(std::uint32_t node);
  void name_line(Place place, std::string_view name);
  /// Something took from `begin` to `end`. `kind` is for filters.
  void span(Place place, Time begin, Time end, std::string_view kind, std::string_view name);
  /// The same, with an arrow.
  void span(Place place, Time begin, Time end, std::string_view kind, std::string_view name,
            std::uint64_t arrow, Arrow way);
  /// Something happened.
  void instant(Place place, Time at, std::string_view kind, std::string_view name);
  /// Something begins that may hold other spans of its line; the result ends it.
  std::uint64_t begin(Place place, Time at, std::string_view kind, std::string_view name);
  /// It ends. What has begun inside of it and goes on, as fibers do, is shown in two parts.
  void end(std::uint64_t span, Time at);
  std::uint64_t new_arrow() noexcept { return ++arrows_; }

  /// To the file, so that it is seen if the process ends. Any thread.
  void flush() noexcept { std::fflush(file_); }
  /// Ends all that has begun, and the file. Empty, or why the file is not whole.
  std::string close(Time at);

 private:
  struct Begun {
    std::uint64_t span;
    std::string kind;
    std::string name;
  };
  struct Track {
    Time last = 0;
    std::vector<Begun> open;
  };

  /// An event up to its own members; `what` is its phase.
  void head(char what, Place place, Time at);
  void named(char what, Place place, Time at, std::string_view kind, std::string_view name);
  void write(std::string_view text) noexcept;
  Time monotone(Place place, Time at);

  const std::string path_;
  std::FILE* file_;
  int error_ = 0;
  bool any_ = false;
  std::map<Place, Track> tracks_;
  /// Where what has begun and not ended is.
  std::map<std::uint64_t, Place> spans_;
  std::uint64_t begun_ = 0;
  std::uint64_t arrows_ = 0;
};

}  // namespace dtutils::sim
