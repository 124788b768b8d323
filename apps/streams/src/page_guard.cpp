// SPDX-License-Identifier: MIT
// The list of protected offers, and what becomes of one whose memory is written.
#include "page_guard.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>

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

/// Ends the time in which the peer reads what lies in the memory of the program: it goes on in the
/// spare memory, or, if the bytes are lost, gives up.
void end_offer(GuardedOffer& offer, bool lost) noexcept {
  const std::atomic_ref word(*offer.word);
  bool copied = false;
  for (std::uint64_t raw = word.load();;) {
    const OfferWord now = OfferWord::from(raw);
    if (now.number != offer.number || now.taken >= offer.length ||
        (now.state != OfferState::kOffered && now.state != OfferState::kReading)) {
      return;
    }
    if (!lost && !copied) {
      lost =
          !copy_aside(offer.spare + now.taken, offer.begin + now.taken, offer.length - now.taken);
      copied = true;
    }
    const OfferWord next{now.number, lost ? OfferState::kLost : OfferState::kMoved, now.taken};
    if (word.compare_exchange_strong(raw, next.raw())) return;
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

void detach_sent_memory(const void* begin, std::size_t size) noexcept {
  // Relaxed: who takes memory away comes after who has sent it, by order of the program.
  if (protected_offers.load(std::memory_order_relaxed) == 0) return;
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
    if (offer.begin < each->begin + each->length && each->begin < offer.begin + offer.length) {
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
  lift(number_of(offer.begin), offer.length);
}

bool PageGuard::on_write(std::uint64_t address) noexcept {
  for (GuardedOffer* each = offers_; each != nullptr; each = each->next) {
    if (address - number_of(each->begin) < each->length) {
      end_offer(*each, false);
      drop(*each);
      return true;
    }
  }
  return false;
}

void PageGuard::detach(std::uint64_t begin, std::uint64_t end) noexcept {
  if (!in_this_process()) return;
  const Hold hold(*this);
  end_all(begin, end, false);
}

void PageGuard::end_all(std::uint64_t begin, std::uint64_t end, bool lost) noexcept {
  for (GuardedOffer* each = offers_; each != nullptr;) {
    GuardedOffer* const offer = each;
    each = each->next;
    const std::uint64_t from = number_of(offer->begin);
    if (from >= end || begin >= from + offer->length) continue;
    end_offer(*offer, lost);
    drop(*offer);
  }
}

void PageGuard::forget_all() noexcept {
  process_ = getpid();
  while (offers_ != nullptr) drop(*offers_);
}

}  // namespace streams
