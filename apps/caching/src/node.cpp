// SPDX-License-Identifier: MIT
// Node: finding documents here and at neighbours.
#include "node.hpp"

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "block.hpp"
#include "checksum.hpp"
#include "dtutils/synchronizer.hpp"
#include "held.hpp"

namespace caching::detail {
namespace {

/// Bytes of one RDMA read at most.
constexpr std::uint64_t kReadMost = std::uint64_t{1} << 30;
/// Compare-and-swaps of a bucket that others change at the same time, before it stays unlisted.
constexpr int kTries = 64;
/// The first reads of a document, each of which is told to its owner; and reads after them for one
/// that is told.
constexpr std::uint64_t kReadsTold = 2;
constexpr std::uint64_t kReadsATouch = 8;
/// Documents that there are hints of, at least.
constexpr std::uint64_t kHintsLeast = 1024;
/// Units of memory here for one hint.
constexpr std::uint64_t kUnitsAHint = 16;

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

Node::Node(dsfabric::Fabric& fabric, const CacheOptions& options)
    : options_(options),
      peers_(fabric, options),
      local_(peers_.blocks(), peers_.units(), peers_.passing(), peers_.touches(), options),
      hints_(std::bit_ceil(std::max(kHintsLeast, peers_.units() / kUnitsAHint))),
      secret_(random_number()),
      late_(static_cast<std::uint16_t>(fabric.founders())) {}

Node::~Node() { close(); }

void Node::connect() {
  peers_.connect(reinterpret_cast<std::uint64_t>(this));
  by_checksum_ = options_.check == Check::kChecksum || !peers_.in_order();
  keeper_ = std::thread([this] { keep_listed(); });
}

std::uint64_t Node::new_number() noexcept {
  const std::uint64_t count = numbers_.fetch_add(1, std::memory_order_relaxed);
  return sum_word(sum_word(secret_, count), secret_) | 1;
}

void Node::take_out(const Left& left) {
  for (std::size_t i = 0; i < left.count; ++i) directory_.remove(left.listings[i]);
}

std::uint32_t Node::reserve(std::uint64_t units, Use use) {
  const std::uint32_t spare = use == Use::kPass ? local_.reserve_spare(units) : kNoEntry;
  if (spare != kNoEntry) return spare;
  for (;;) {
    Left left;
    const std::uint32_t entry = local_.reserve(units, use, left);
    take_out(left);
    if (entry != kNoEntry || left.count < Left::kMost) return entry;
  }
}

bool Node::fresh(std::uint32_t entry, const Time* now) const noexcept {
  const Time expires = expires_of(Block(local_.block(entry)).fields());
  if (now != nullptr) return *now < expires;
  return expires == Time::max() || std::chrono::system_clock::now() < expires;
}

Document Node::get(const Name& name, const Time* now) {
  const std::uint32_t here = local_.take(name);
  Held held(local_, here);
  std::uint64_t ticket = 0;
  if (here == kNoEntry || !fresh(here, now)) {
    const std::uint32_t there = find(name, now, here == kNoEntry, ticket);
    if (there != kNoEntry) {
      const std::byte* const block = local_.block(there);
      const Fields& fields = Block(block).fields();
      neighbour_.fetch_add(1, std::memory_order_relaxed);
      neighbour_bytes_.fetch_add(fields.body_bytes, std::memory_order_relaxed);
      if (ticket == 0) ticket = fields.ticket;
      return Document(*this, there, block, Source::kNeighbour, Ticket{ticket});
    }
    if (here == kNoEntry) {
      missed_.fetch_add(1, std::memory_order_relaxed);
      // Without the directory nothing is known: the empty ticket would put anything.
      return Document(ticket == 0 ? kNoTicket : Ticket{ticket});
    }
  }
  here_.fetch_add(1, std::memory_order_relaxed);
  held.release();
  const std::byte* const block = local_.block(here);
  if (ticket == 0) ticket = Block(block).fields().ticket;
  return Document(*this, here, block, Source::kHere, Ticket{ticket});
}

std::uint32_t Node::find(const Name& name, const Time* now, bool expired_too,
                         std::uint64_t& ticket) {
  const bool alone = options_.scheme == Scheme::kAc;
  std::uint32_t found = kNoEntry;
  const Hint hint = alone ? Hint{} : hints_.find(name.hash);
  if (hint.word && expired_too) {
    found = fetch(name, hint.word, hint);
    if (found != kNoEntry && fresh(found, now)) return found;
  }
  // Twice, when what the words lead to has left: it may have been replaced meanwhile.
  bool refused = true;
  for (int pass = 0; pass < 2 && refused; ++pass) {
    Bucket bucket;
    {
      Peers::Scratch scratch(peers_);
      if (!directory_.read(name.key_hash, scratch)) return found;
      bucket = scratch->bucket;
    }
    // 0 is the empty ticket.
    ticket = bucket.epoch + 1;
    refused = false;
    for (const Word& word : bucket.words) {
      if (alone || found != kNoEntry) break;
      if (!word || word.tag() != Word::tag_of(name.hash)) continue;
      found = fetch(name, word, {hint.word, 0});
      refused = refused || found == kNoEntry;
      if (found != kNoEntry && !expired_too && !fresh(found, now)) {
        local_.unpin(std::exchange(found, kNoEntry));
      }
    }
    refused = refused && found == kNoEntry;
  }
  return found;
}

std::uint32_t Node::fetch(const Name& name, Word word, const Hint& hint) {
  const std::uint16_t process = word.process();
  // A word may be anything: one that was read in parts, or of a process that ended in the middle.
  if (process >= peers_.count() || process == peers_.self() || !peers_.usable(process) ||
      word.units() == 0 || word.block() + word.units() > peers_[process].units) {
    return kNoEntry;
  }
  const bool second =
      options_.scheme == Scheme::kHybcc && hint.word && word.units() * kUnit <= options_.small;
  Use use = options_.scheme == Scheme::kBcc ? Use::kDocument : second ? Use::kCopy : Use::kPass;
  std::uint32_t entry = reserve(word.units(), use);
  if (entry == kNoEntry && use != Use::kPass) entry = reserve(word.units(), use = Use::kPass);
  if (entry == kNoEntry) return kNoEntry;
  Held held(local_, entry);
  const std::uint64_t all = word.units() * kUnit;
  if (!fetch_into(entry, name, word, hint.bytes == 0 ? all : std::min(all, hint.bytes))) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    hints_.set(name.hash, {});
    return kNoEntry;
  }
  const Fields& fields = Block(local_.block(entry)).fields();
  if (hint.word != word || hint.bytes == 0) hints_.set(name.hash, {word, bytes_of(fields)});
  // Its owner learns of the first reads, and of one in some that follow: what is asked for often is
  // told often enough.
  const std::uint64_t before = hints_.count_read(name.hash);
  if (before < kReadsTold || before % kReadsATouch == 0) {
    (void)peers_.fabric().transmitter({process}).write(peers_.one(),
                                                       peers_.touch(process, fields.entry));
  }
  if (use != Use::kPass) {
    Peers::Scratch scratch(peers_);
    (void)keep(entry, name, use == Use::kDocument, scratch);
  }
  held.release();
  return entry;
}

bool Node::fetch_into(std::uint32_t entry, const Name& name, Word word, std::uint64_t bytes) {
  std::byte* const into = local_.block(entry);
  const Block block(into);
  if (local_.passes(entry)) {
    return read_block(word, into, block.front(), bytes) &&
           block.is_whole(bytes, *block.front(), name, by_checksum_);
  }
  // `front` lands elsewhere: it would tell others that the block is whole before it is.
  Peers::Scratch scratch(peers_);
  return read_block(word, into, &scratch->front, bytes) &&
         block.is_whole(bytes, scratch->front, name, by_checksum_);
}

bool Node::read_block(Word word, std::byte* into, std::uint64_t* front, std::uint64_t bytes) {
  const std::uint16_t process = word.process();
  dtutils::Transmitter& from = peers_.fabric().transmitter({process});
  const std::uint64_t first = std::min(bytes - kFieldsAt, kReadMost);
  const dtutils::RemoteMemoryLocator there =
      peers_.block(process, word.block(), kFrontAt, sizeof *front + first);
  const auto fields = static_cast<std::uint32_t>(first);
  dtutils::Synchronizer arrived(1);
  bool posted = false;
  if (reinterpret_cast<std::byte*>(front) == into + kFrontAt) {
    const auto length = static_cast<std::uint32_t>(sizeof *front) + fields;
    posted = from.read({front, length, peers_.lkey()}, there, arrived);
  } else {
    ibv_sge elements[2] = {
        {reinterpret_cast<std::uint64_t>(front), sizeof *front, peers_.lkey()},
        {reinterpret_cast<std::uint64_t>(into + kFieldsAt), fields, peers_.lkey()}};
    ibv_send_wr request{};
    request.opcode = IBV_WR_RDMA_READ;
    request.sg_list = elements;
    request.num_sge = 2;
    request.wr.rdma.remote_addr = there.address;
    request.wr.rdma.rkey = there.rkey;
    posted = from.post(request, arrived);
  }
  for (std::uint64_t at = kFieldsAt + first; posted && at < bytes; at += kReadMost) {
    const auto length = static_cast<std::uint32_t>(std::min(bytes - at, kReadMost));
    arrived.expect(1);
    posted = from.read({into + at, length, peers_.lkey()},
                       peers_.block(process, word.block(), at, length), arrived);
  }
  return from.wait(arrived) == dtutils::Synchronizer::Outcome::kDone && posted;
}

bool Node::keep(std::uint32_t entry, const Name& name, bool listed, Peers::Scratch& scratch) {
  Left left;
  local_.insert(entry, name);
  // After it can be found by drop(): an invalidation that is not counted yet finds it. Its ticket
  // is the one that it was put with, wherever it comes from: a copy of what was counted out comes
  // too late here, though its owner has not dropped it yet.
  const bool in_time = directory_.read(name.key_hash, scratch) &&
                       scratch->bucket.epoch + 1 == Block(local_.block(entry)).fields().ticket;
  if (!in_time) local_.drop(entry, left);
  take_out(left);
  // Not before: a word of a document that was here before leads here.
  if (!in_time || (listed && !local_.begin(entry, new_number()))) return false;
  std::unique_lock listing(listing_of(name), std::defer_lock);
  if (listed) {
    listing.lock();
    list(entry, name, true, scratch);
  }
  const bool shown = local_.show(entry, name, left);
  take_out(left);
  return shown;
}

void Node::list(std::uint32_t entry, const Name& name, bool read, Peers::Scratch& scratch) {
  const Entry its = local_.entry(entry);
  const Word word = Word::of(name.hash, peers_.self(), its.units, its.block);
  // Others change words of the bucket at the same time; each of them then has what it wanted.
  for (int tries = 0; tries < kTries; ++tries) {
    if (!read && !directory_.read(name.key_hash, scratch)) return;
    read = false;
    const std::optional<Listing> listing = directory_.insert(name.key_hash, word, scratch);
    if (!listing) continue;
    if (!local_.list(entry, *listing)) directory_.remove(*listing);
    return;
  }
}

void Node::drop(std::uint64_t key_hash) {
  for (bool all = false; !all;) {
    Left left;
    all = local_.drop_key(key_hash, left);
    take_out(left);
  }
}

Counters Node::counters() const noexcept {
  Counters counters;
  counters.here = here_.load(std::memory_order_relaxed);
  counters.neighbour = neighbour_.load(std::memory_order_relaxed);
  counters.missed = missed_.load(std::memory_order_relaxed);
  counters.neighbour_bytes = neighbour_bytes_.load(std::memory_order_relaxed);
  counters.refused = refused_.load(std::memory_order_relaxed);
  counters.evicted = local_.evicted();
  counters.documents = local_.documents();
  counters.bytes = local_.bytes();
  return counters;
}

}  // namespace caching::detail
