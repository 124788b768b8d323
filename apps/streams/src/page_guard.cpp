// SPDX-License-Identifier: MIT
// The list of protected offers, and what becomes of one whose memory is written.
#include "page_guard.hpp"

#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>

#include "dtutils/wait.hpp"
#include "fault_signal.hpp"
#include "offer.hpp"
#include "streams/stream.hpp"
#include "user_faults.hpp"

namespace streams {
namespace {

/// Offers whose pages are protected, in whichever way.
std::atomic<std::uint32_t> protected_offers{0};
/// The guards of this process, by PageProtection; in a child those of its parent, too.
std::array<std::atomic<PageGuard*>, 2> guards{};

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

/// By a system call, so that memory that is not there any more is an error and no signal.
bool copy_aside(std::byte* into, const std::byte* from, std::size_t length) noexcept {
  while (length != 0) {
    const iovec local{into, length};
    const iovec remote{const_cast<std::byte*>(from), length};
    const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied <= 0) return false;
    into += copied;
    from += copied;
    length -= static_cast<std::size_t>(copied);
  }
  return true;
}

/// What to do about a peer that is reading.
enum class Reader : std::uint8_t { kWait, kLeave };

/// What became of an offer.
enum class Ended : std::uint8_t { kYes, kBeingRead };

/// Ends the time in which the peer reads what lies in the memory of the program: it goes on in the
/// spare memory, or, if the bytes are lost, gives up. kBeingRead: it may be in the memory still.
Ended end_offer(GuardedOffer& offer, bool lost, Reader reader) noexcept {
  const std::atomic_ref word(*offer.word);
  bool copied = false;
  for (std::uint64_t raw = word.load();;) {
    const OfferWord now = OfferWord::from(raw);
    if (offer.left_to_reader != 0) {
      return raw == offer.left_to_reader ? Ended::kBeingRead : Ended::kYes;
    }
    if (now.number != offer.number || now.taken >= offer.length ||
        (now.state != OfferState::kOffered && now.state != OfferState::kReading)) {
      return Ended::kYes;
    }
    const bool reading = now.state == OfferState::kReading;
    if (reading && reader == Reader::kWait) return Ended::kBeingRead;
    if (!lost && !copied) {
      lost =
          !copy_aside(offer.spare + now.taken, offer.begin + now.taken, offer.length - now.taken);
      copied = true;
    }
    const OfferWord next{now.number, lost ? OfferState::kLost : OfferState::kMoved, now.taken};
    if (!word.compare_exchange_strong(raw, next.raw())) continue;
    if (!reading || lost) return Ended::kYes;
    offer.left_to_reader = next.raw();
    return Ended::kBeingRead;
  }
}

}  // namespace

PageGuard* PageGuard::shared(PageProtection way) noexcept {
  const bool faults = way == PageProtection::kUserfaultfd;
  PageGuard* const guard = faults ? UserFaults::shared() : FaultSignal::shared();
  if (guard != nullptr) {
    guards[static_cast<std::size_t>(way)].store(guard, std::memory_order_release);
  }
  return guard;
}

bool may_send_asynchronously(PageProtection way) noexcept {
  // Without the thread that answers userfaultfd(2).
  return way == PageProtection::kUserfaultfd ? UserFaults::permitted()
                                             : PageGuard::shared(way) != nullptr;
}

PageGuard::Hold::Hold(PageGuard& guard) noexcept : guard_(guard) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
  guard_.mutex_.lock();
}

PageGuard::Hold::~Hold() {
  guard_.mutex_.unlock();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool has_sent_memory() noexcept {
  // Relaxed: who takes memory away comes after who has sent it, by order of the program.
  return protected_offers.load(std::memory_order_relaxed) != 0;
}

void detach_sent_memory(const void* begin, std::size_t size) noexcept {
  if (!has_sent_memory()) return;
  for (const auto& guard : guards) {
    // Acquire: pairs with the release in `shared`.
    PageGuard* const each = guard.load(std::memory_order_acquire);
    if (each != nullptr) each->detach(number_of(begin), number_of(begin) + size);
  }
}

PageGuard::PageGuard() noexcept : process_(getpid()) {}

bool PageGuard::in_this_process() const noexcept { return process_ == getpid(); }

bool PageGuard::enlisted(const GuardedOffer& offer) const noexcept {
  for (const GuardedOffer* each = offers_; each != nullptr; each = each->next) {
    if (each == &offer) return true;
  }
  return false;
}

bool PageGuard::protect(GuardedOffer& offer) noexcept {
  if (!in_this_process() || !prepare(offer)) return false;
  const Hold hold(*this);
  for (const GuardedOffer* each = offers_; each != nullptr; each = each->next) {
    if (each->left_to_reader == 0 && offer.begin < each->begin + each->length &&
        each->begin < offer.begin + offer.length) {
      return false;
    }
  }
  if (!cover(offer)) return false;
  offer.next = offers_;
  offers_ = &offer;
  protected_offers.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void PageGuard::release(GuardedOffer& offer) noexcept {
  if (!in_this_process()) return;
  const Hold hold(*this);
  if (enlisted(offer)) drop(offer);
}

void PageGuard::drop(GuardedOffer& offer) noexcept {
  GuardedOffer** at = &offers_;
  while (*at != &offer) at = &(*at)->next;
  *at = offer.next;
  protected_offers.fetch_sub(1, std::memory_order_relaxed);
  if (offer.left_to_reader == 0) lift(number_of(offer.begin), offer.length);
}

GuardedOffer* PageGuard::next_in(GuardedOffer* offer, std::uint64_t begin,
                                 std::uint64_t end) noexcept {
  while (offer != nullptr &&
         (number_of(offer->begin) >= end || begin >= number_of(offer->begin) + offer->length)) {
    offer = offer->next;
  }
  return offer;
}

bool PageGuard::on_write(std::uint64_t address) noexcept {
  for (GuardedOffer* each = next_in(offers_, address, address + 1); each != nullptr;
       each = next_in(each->next, address, address + 1)) {
    if (each->left_to_reader != 0) continue;
    if (end_offer(*each, false, Reader::kLeave) == Ended::kYes) {
      drop(*each);
    } else {
      lift(number_of(each->begin), each->length);
    }
    return true;
  }
  return false;
}

void PageGuard::on_unmap(std::uint64_t begin, std::uint64_t end) noexcept {
  for (GuardedOffer* each = next_in(offers_, begin, end); each != nullptr;) {
    GuardedOffer* const offer = each;
    each = next_in(each->next, begin, end);
    static_cast<void>(end_offer(*offer, true, Reader::kLeave));
    drop(*offer);
  }
}

void PageGuard::detach(std::uint64_t begin, std::uint64_t end) noexcept {
  if (!in_this_process()) return;
  dtutils::Deadline deadline(kPatienceWithReader);
  for (;;) {
    {
      // Not while it waits: the reader may need this guard for the memory that it reads into.
      const Hold hold(*this);
      GuardedOffer* const offer = next_in(offers_, begin, end);
      if (offer == nullptr) return;
      const Reader reader = deadline.passed() ? Reader::kLeave : Reader::kWait;
      const Ended ended = end_offer(*offer, false, reader);
      if (ended == Ended::kYes || reader == Reader::kLeave) {
        drop(*offer);
        continue;
      }
    }
    sched_yield();
  }
}

void PageGuard::forget_all() noexcept {
  process_ = getpid();
  while (offers_ != nullptr) drop(*offers_);
}

}  // namespace streams
