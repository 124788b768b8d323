// SPDX-License-Identifier: MIT
// Records: found, checked, run.
#include "ring/incoming_ring.hpp"

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
  if (first) enter(0);
}

void IncomingRing::enter(std::size_t chunk) noexcept {
  chunk_ = chunk;
  begin_ = circle_[chunk].data();
  at_ = begin_ + circle_[chunk].size();
}

const char* IncomingRing::objection(const RingHeader& header) const noexcept {
  if (header.function >= table_.size()) return "it names a function that does not exist";
  const dsfabric::FunctionTable::Entry& entry = table_.entry(header.function);
  if (header.count == 0 || header.bytes < entry.bytes) return "its record is too short";
  if (header.count > 1 && header.bytes != entry.bytes) return "its run is of no known size";
  // What is below the header, without the next header's place.
  const auto room = static_cast<std::uint64_t>(at_ - begin_) - 2 * kRingWord;
  if (std::uint64_t{header.count} * ring_stride(header.bytes) > room) {
    return "its record leaves the chunk";
  }
  return nullptr;
}

IncomingRing::End IncomingRing::run(std::uint32_t budget, dsfabric::CallContext& call) {
  const std::byte* const enough = at_ - budget;
  while (at_ > enough) {
    const std::uint64_t word = dtutils::load_device_word(eye());
    if (word == 0) return End::kEmpty;
    const RingHeader header = RingHeader::decode(word);
    if (header.function == RingHeader::kControl) {
      if (RingHeader::present(word)) return End::kChunk;
      reason_ = "a word in its ring is no header";
      return End::kCorrupt;
    }
    const char* const wrong =
        RingHeader::present(word) ? objection(header) : "a word in its ring is no header";
    if (wrong != nullptr) [[unlikely]] {
      reason_ = wrong;
      return End::kCorrupt;
    }
    run_one(header, call);
  }
  return End::kMore;
}

void IncomingRing::run_one(const RingHeader& header, dsfabric::CallContext& call) {
  const dsfabric::FunctionTable::Entry& entry = table_.entry(header.function);
  std::byte* const end = at_ - kRingWord;
  ++counters_.records;
  // Whatever the handlers do, the ring is past them.
  if (header.count == 1) {
    at_ = end - ring_stride(header.bytes);
    ++counters_.calls;
    try {
      entry.invoke(at_, header.bytes, call);
    } catch (...) {
      call.fabric.report_exception(call, std::current_exception());
    }
    return;
  }
  const std::uint32_t stride = ring_stride(header.bytes);
  at_ = end - std::size_t{stride} * header.count;
  std::uint32_t left = header.count;
  std::byte* from = end;
  while (left != 0) {
    std::uint32_t done = 0;
    try {
      entry.invoke_run(from, left, call, done);
      counters_.calls += left;
      return;
    } catch (...) {
      counters_.calls += done;
      left -= done;
      from -= std::size_t{stride} * done;
      // Calls that were not run become a record of their own, over the last one that was: so this
      // ring needs to remember nothing when the exception goes on to whoever polls.
      if (left != 0) {
        at_ = from + kRingWord;
        const RingHeader rest{header.function, left, header.bytes};
        dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(from), rest.encode());
      }
      call.fabric.report_exception(call, std::current_exception());
      at_ = end - std::size_t{stride} * header.count;
    }
  }
}

bool IncomingRing::leave_chunk() {
  const RingHeader control = RingHeader::decode(*eye());
  if (control.count > waiting_.size()) {
    reason_ = "it counts chunks that it was not given";
    return false;
  }
  // Before consumption is told: the sender comes round to a zero, and the receiver to no old
  // header.
  dtutils::store_device_word(
      reinterpret_cast<std::uint64_t*>(begin_ + circle_[chunk_].size() - kRingWord),
      std::uint64_t{0});
  ++counters_.chunks_consumed;
  const auto grown = waiting_.begin() + control.count;
  circle_.insert(circle_.begin() + static_cast<std::ptrdiff_t>(chunk_) + 1,
                 std::make_move_iterator(waiting_.begin()), std::make_move_iterator(grown));
  waiting_.erase(waiting_.begin(), grown);
  left_ = chunk_;
  enter((chunk_ + 1) % circle_.size());
  return true;
}

bool IncomingRing::tell_consumed(dtutils::Transmitter& transmitter) noexcept {
  // The chunk itself lends its lowest word: nobody writes there before this write is done, because
  // the sender learns of the chunk by it.
  const dtutils::RDMAMemory& chunk = circle_[left_];
  std::memcpy(chunk.data(), &counters_.chunks_consumed, kRingWord);
  const bool inlined = transmitter.queue_pair().max_inline() >= kRingWord;
  return transmitter.write(chunk.local(0, kRingWord), consumed_word_,
                           inlined ? dtutils::kInlined : dtutils::kUnsignaled);
}

}  // namespace riutils
