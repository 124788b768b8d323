// SPDX-License-Identifier: MIT
// RemotePort: reads that are one moment's, writes that are awaited, and the copy of the directory.
#include "hashtable/detail/ports.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/limits.hpp"

namespace hashtable::detail {
namespace {

/// Bytes behind the copies for writes that do not go inline.
constexpr std::uint32_t kScratch = 256;

}  // namespace

RemotePort::RemotePort(dsfabric::Thread& self, dsfabric::ThreadId home,
                       const dtutils::RemoteMemoryLocator& there, const Shape& shape)
    : fabric_(self.fabric()),
      home_(home),
      shape_(shape),
      region_(there),
      transmitter_(self.transmitter(home.process)),
      reader_(transmitter_) {
  dtutils::QueuePair& pair = transmitter_.queue_pair();
  max_inline_ = pair.max_inline();
  copies_ = fabric_.general_allocator(self.zone())
                .allocate((kInFlight + 1) * shape.block_bytes() + kScratch);
  read_directory();
}

void RemotePort::throw_gone(const char* during) const {
  std::string reason = fabric_.failure_reason(home_.process);
  if (reason.empty()) reason = "the connection to it is broken";
  throw dsfabric::PeerFailed(home_.process, std::string("hashtable: ") + during, reason);
}

bool RemotePort::post_started(dtutils::PostOptions options) noexcept {
  const Read read = std::exchange(started_, Read{});
  return transmitter_.read(read.to, read.from, options);
}

void RemotePort::start_last() noexcept {
  if (started_.to.length == 0) return;
  arrived_.expect(1);
  // A post that is refused fails the Synchronizer.
  (void)post_started(arrived_);
}

void RemotePort::write(std::uint32_t index, std::uint32_t at, const std::uint64_t* words,
                       std::uint32_t count, std::uint32_t /*slot_word*/) {
  dtutils::Synchronizer done(1);
  dtutils::LocalBuffer from{const_cast<std::uint64_t*>(words), count * 8, 0};
  unsigned flags = dtutils::kInlined;
  if (from.length > max_inline_) {
    flags = dtutils::kUnsignaled;
    from = copies_.local((kInFlight + 1) * shape_.block_bytes(), from.length);
    std::memcpy(from.address, words, from.length);
  }
  if (!transmitter_.write(from, place(index, at, count), dtutils::PostOptions(done, flags)) ||
      transmitter_.wait(done) != dtutils::Synchronizer::Outcome::kDone) {
    throw_gone("a write");
  }
}

dtutils::LocalBuffer RemotePort::large(std::size_t count) {
  if (large_.size() < count * 8) {
    large_ = fabric_.general_allocator().allocate(std::max(count * 8, dtutils::kPage));
  }
  return large_.local(0, static_cast<std::uint32_t>(count * 8));
}

void RemotePort::read_words(std::uint64_t place, std::uint64_t* to, std::size_t count) {
  if (count == 0) return;
  const dtutils::LocalBuffer here = large(count);
  if (!transmitter_.blocking_read(here, region_.part(place * 8, count * 8))) throw_gone("a read");
  std::memcpy(to, here.address, count * 8);
}

void RemotePort::write_words(std::uint64_t place, const std::uint64_t* from, std::size_t count) {
  const dtutils::LocalBuffer here = large(count);
  std::memcpy(here.address, from, count * 8);
  dtutils::Synchronizer done(1);
  if (!transmitter_.write(here, region_.part(place * 8, count * 8), dtutils::PostOptions(done)) ||
      transmitter_.wait(done) != dtutils::Synchronizer::Outcome::kDone) {
    throw_gone("a write");
  }
}

void RemotePort::read_directory() {
  for (;;) {
    read_words(0, &where_.raw, 1);
    directory_.resize(std::size_t{1} << where_.depth());
    shift_ = 64 - where_.depth();
    read_words(where_.place(), directory_.data(), directory_.size());
    DirectoryWord now;
    read_words(0, &now.raw, 1);
    // It was there all the time: the words are its entries, and not of what came to that place.
    if (now == where_) return;
  }
}

void RemotePort::refresh(std::uint64_t hash) {
  std::uint64_t entry;
  DirectoryWord now;
  const std::uint64_t at = hash >> shift_;
  read_words(where_.place() + at, &entry, 1);
  read_words(0, &now.raw, 1);
  if (now == where_) {
    directory_[at] = entry;
  } else {
    read_directory();
  }
}

}  // namespace hashtable::detail
