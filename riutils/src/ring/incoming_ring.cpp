// SPDX-License-Identifier: MIT
// Records: found, checked, run.
#include "ring/incoming_ring.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>

#include "dsfabric/fabric.hpp"

namespace riutils {

void IncomingRing::add(std::vector<dtutils::RDMAMemory> chunks) {
  const bool first = circle_.empty();
  auto& to = first ? circle_ : waiting_;
  to.insert(to.end(), std::make_move_iterator(chunks.begin()),
            std::make_move_iterator(chunks.end()));
  if (first) start_chunk(0);
}

void IncomingRing::start_chunk(std::size_t chunk) noexcept {
  chunk_ = chunk;
  begin_ = circle_[chunk].data();
  at_ = begin_ + circle_[chunk].size();
}

[[gnu::always_inline]] inline const char* IncomingRing::validate_header(
    std::uint64_t word, const std::byte* at) const noexcept {
  if (!detail::RingHeader::present(word)) return "a word is no header";
  const detail::RingHeader header = detail::RingHeader::decode(word);
  if (header.function >= functions_.size()) return "a record names a function that does not exist";
  const std::uint32_t min_bytes = functions_[header.function].bytes;
  if (header.count == 0 || header.bytes < min_bytes) return "a record is too short";
  if (header.count > 1 && header.bytes != min_bytes) return "a run has calls of another size";
  // Its header, its calls, and the next header's place.
  const std::uint64_t needed =
      2 * detail::kRingWord + std::uint64_t{header.count} * detail::ring_stride(header.bytes);
  if (needed > static_cast<std::uint64_t>(at - begin_)) {
    return "a record leaves its chunk";
  }
  return nullptr;
}

bool IncomingRing::is_arriving() noexcept {
  const auto now = Clock::now();
  if (arriving_ != at_ || arriving_after_ != counters_.records) {
    arriving_ = at_;
    arriving_after_ = counters_.records;
    arriving_since_ = now;
  }
  return now - arriving_since_ < kArrivalLimit;
}

inline void IncomingRing::change_lines(std::byte* at, std::byte* end) noexcept {
  constexpr std::uintptr_t kLine = dtutils::kCacheLine;
  const auto next_header = reinterpret_cast<std::uintptr_t>(at) - detail::kRingWord;
  const auto header = reinterpret_cast<std::uintptr_t>(end);
  // Most small records have no line to themselves.
  if (header - next_header <= kLine) return;
  for (std::uintptr_t line = (next_header | (kLine - 1)) + 1; line < (header & ~(kLine - 1));
       line += kLine) {
    dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(line), std::uint64_t{0});
  }
}

inline void IncomingRing::fetch(const std::byte* at, const std::byte* end) noexcept {
  const auto low = reinterpret_cast<std::uintptr_t>(at);
  for (auto line = reinterpret_cast<std::uintptr_t>(end); line > low; line -= dtutils::kCacheLine) {
    dtutils::fetch_for_writing(line - 1);
  }
}

template <class RunRecord>
inline IncomingRing::End IncomingRing::run_records(std::uint32_t budget, RunRecord&& run_record) {
  const std::byte* const enough = at_ - budget;
  // Handlers cannot reach this ring, so its place is kept in a register.
  std::byte* at = at_;
  const std::byte* const backlog = at - kBacklog;
  while (at > enough) {
    const std::uint64_t word =
        dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(at - detail::kRingWord));
    if (word == 0) return End::kEmpty;
    const detail::RingHeader header = detail::RingHeader::decode(word);
    if (header.function == detail::RingHeader::kControl && detail::RingHeader::present(word))
      return End::kChunk;
    if (const char* const wrong = validate_header(word, at)) [[unlikely]] {
      if (!detail::RingHeader::present(word) && is_arriving()) return End::kEmpty;
      reason_ = wrong;
      return End::kCorrupt;
    }
    std::byte* const end = at - detail::kRingWord;
    // See change_lines. Without it, PollModeration gains next to nothing.
    dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(end), std::uint64_t{0});
    at = end - std::size_t{detail::ring_stride(header.bytes)} * header.count;
    // Before the calls: whatever they do, the ring is past them.
    at_ = at;
    if (header.count > 1) {
      if (header.bytes > dtutils::kCacheLine) fetch(at, end);
    } else if (at < backlog) {
      fetch(std::max(at - kAhead, begin_), std::max(end - kAhead, begin_));
    }
    ++counters_.records;
    if (!run_record(header, at, end)) return End::kNoStack;
    change_lines(at, end);
  }
  return End::kMore;
}

inline void IncomingRing::run_one(const detail::RingHeader& header, std::byte* at,
                                  dsfabric::CallContext& call) {
  ++counters_.calls;
  try {
    functions_[header.function].invoke(at, header.bytes, call);
  } catch (...) {
    call.fabric.report_exception(call, std::current_exception());
  }
}

IncomingRing::End IncomingRing::run(std::uint32_t budget, dsfabric::CallContext& call) {
  return run_records(budget, [&](const detail::RingHeader& header, std::byte* at, std::byte* end) {
    header.count == 1 ? run_one(header, at, call) : run_many(header, end, call);
    return true;
  });
}

IncomingRing::End IncomingRing::run_inline(std::uint32_t budget, dsfabric::CallContext& call) {
  return run_records(budget, [&](const detail::RingHeader& header, std::byte* at, std::byte* end) {
    if (functions_[header.function].needs_place) {
      put_back(header, header.count, end);
      --counters_.records;
      return false;
    }
    header.count == 1 ? run_one(header, at, call) : run_many(header, end, call);
    return true;
  });
}

IncomingRing::End IncomingRing::run(std::uint32_t budget, dsfabric::CallContext& call,
                                    FiberPool& fibers) {
  return run_records(budget, [&](const detail::RingHeader& header, std::byte*, std::byte* end) {
    return run_in_fibers(header, end, call, fibers);
  });
}

void IncomingRing::put_back(const detail::RingHeader& header, std::uint32_t count,
                            std::byte* end) noexcept {
  at_ = end + detail::kRingWord;
  const detail::RingHeader rest{header.function, count, header.bytes};
  dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(end), rest.encode());
}

void IncomingRing::run_many(const detail::RingHeader& header, std::byte* end,
                            dsfabric::CallContext& call) {
  const dsfabric::detail::InvokeRun invoke = functions_[header.function].invoke_run;
  std::byte* const below = at_;
  std::uint32_t left = header.count;
  while (left != 0) {
    std::uint32_t done = 0;
    try {
      invoke(end, left, call, done);
      counters_.calls += left;
      return;
    } catch (...) {
      counters_.calls += done;
      left -= done;
      end -= std::size_t{detail::ring_stride(header.bytes)} * done;
      // In case that the exception goes on to whoever polls.
      if (left != 0) put_back(header, left, end);
      call.fabric.report_exception(call, std::current_exception());
      at_ = below;
    }
  }
}

bool IncomingRing::run_in_fibers(const detail::RingHeader& header, std::byte* end,
                                 dsfabric::CallContext& call, FiberPool& fibers) {
  const dsfabric::detail::FunctionTable::Entry& function = functions_[header.function];
  std::byte* const below = at_;
  for (std::uint32_t left = header.count; left != 0; --left) {
    std::byte* const payload = end - detail::ring_stride(header.bytes);
    ++counters_.calls;
    try {
      const auto outcome = function.placed
                               ? FiberPool::Outcome::kTooLarge
                               : fibers.run(function.invoke, payload, header.bytes, call);
      if (outcome == FiberPool::Outcome::kNoStack) {
        put_back(header, left, end);
        --counters_.calls;
        --counters_.records;
        return false;
      }
      if (outcome == FiberPool::Outcome::kTooLarge) function.invoke(payload, header.bytes, call);
    } catch (...) {
      if (left != 1) put_back(header, left - 1, payload);
      call.fabric.report_exception(call, std::current_exception());
      at_ = below;
    }
    end = payload;
  }
  return true;
}

bool IncomingRing::leave_chunk() {
  const detail::RingHeader control = detail::RingHeader::decode(*header_word());
  if (control.count > waiting_.size()) {
    reason_ = "a control word counts chunks that were not granted";
    return false;
  }
  // Before consumption is told: the sender comes round to a zero, and the receiver to no old
  // header.
  dtutils::store_device_word(
      reinterpret_cast<std::uint64_t*>(begin_ + circle_[chunk_].size() - detail::kRingWord),
      std::uint64_t{0});
  ++counters_.chunks_consumed;
  const auto grown = waiting_.begin() + control.count;
  circle_.insert(circle_.begin() + static_cast<std::ptrdiff_t>(chunk_) + 1,
                 std::make_move_iterator(waiting_.begin()), std::make_move_iterator(grown));
  waiting_.erase(waiting_.begin(), grown);
  left_ = chunk_;
  start_chunk((chunk_ + 1) % circle_.size());
  return true;
}

bool IncomingRing::tell_consumed(dtutils::Transmitter& transmitter) noexcept {
  // The chunk itself lends its lowest word: nobody writes there before this write is done, because
  // the sender learns of the chunk by it.
  const dtutils::RDMAMemory& chunk = circle_[left_];
  std::memcpy(chunk.data(), &counters_.chunks_consumed, detail::kRingWord);
  const bool inlined = transmitter.queue_pair().max_inline() >= detail::kRingWord;
  return transmitter.write(chunk.local(0, detail::kRingWord), consumed_word_,
                           inlined ? dtutils::kInlined : dtutils::kUnsignaled);
}

}  // namespace riutils
