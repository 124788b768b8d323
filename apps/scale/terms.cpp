// SPDX-License-Identifier: MIT
// Closed forms over dtutils::NetworkModel.
#include "terms.hpp"

#include <algorithm>
#include <cmath>

namespace scale {
namespace {

constexpr std::string_view kPosts = "posts";
constexpr std::string_view kFlight = "flight";
constexpr std::string_view kSwitches = "switches";
constexpr std::string_view kFetch = "fetch";
constexpr std::string_view kBytes = "bytes";
constexpr std::string_view kLook = "look";

double ns(std::chrono::nanoseconds time) noexcept { return static_cast<double>(time.count()); }

/// Collectives of DSfabric: up to so many processes in one round, more in rounds with three
/// partners.
constexpr double kOneRound = 16;
constexpr double kRadix = 4;
/// Bytes of a worker in a gathering, and of the flag behind them.
constexpr double kSlot = 64;
constexpr double kFlag = 8;
/// What queue pairs of a fabric take inline.
constexpr double kInline = 320;
/// A call with its header, which is a message.
constexpr double kMessage = 128;
/// To take a completion out of its queue.
constexpr double kTake = 15;
/// Looks into queues, in vain, before each wave of the detection of termination.
constexpr double kPolls = 4;

}  // namespace

double ClosedForm::wire(double bytes) const noexcept {
  const double packets = std::max(1.0, std::ceil(bytes / model_.mtu));
  return (bytes + packets * model_.header) * 1000 / model_.bytes_per_us;
}

void ClosedForm::add_flight(Terms& terms, double bytes, bool far) const {
  terms
      .add(kFlight,
           ns(model_.doorbell) + ns(model_.issue) + 2 * ns(model_.adapter) + ns(model_.land))
      .add(kSwitches, ns(model_.hop) * (far ? 3 : 1))
      .add(kBytes, wire(bytes))
      // The last of so many waiters that look at some time within one poll.
      .add(kLook, ns(model_.poll) * nodes_ / (nodes_ + 1));
}

template <class Visit>
void ClosedForm::for_each_round(Visit visit) const {
  const double radix = nodes_ <= kOneRound ? kOneRound : kRadix;
  for (double stride = 1; stride < nodes_; stride *= radix) {
    visit(stride, std::min(radix, std::ceil(nodes_ / stride)) - 1);
  }
}

Terms ClosedForm::barrier() const {
  Terms terms;
  for_each_round([&](double, double partners) {
    terms.add(kPosts, partners * ns(model_.post));
    add_flight(terms, kFlag);
  });
  return terms;
}

Terms ClosedForm::all_gather() const {
  Terms terms;
  for_each_round([&](double stride, double partners) {
    const double last = std::min(stride, nodes_ - partners * stride);
    const double posts = 2 * partners * ns(model_.post);
    // The link carries what was posted first while the rest is posted.
    const double others = (partners - 1) * wire(kSlot * stride);
    terms.add(kPosts, posts).add(kBytes, std::max(0.0, others - posts) + wire(kSlot * last));
    if (kSlot * stride > kInline) terms.add(kFetch, ns(model_.fetch));
    add_flight(terms, kFlag);
  });
  return terms;
}

Terms ClosedForm::broadcast() const {
  Terms terms;
  for (double distance = 1; distance < nodes_; distance *= 2) {
    terms.add(kPosts, ns(model_.post)).add(kLook, kTake);
    // Steps to nodes nearby stay at one switch, but for one of them.
    const bool far = nodes_ > model_.ports && (distance == 1 || distance >= model_.ports);
    add_flight(terms, kMessage, far);
  }
  return terms;
}

Terms ClosedForm::termination() const {
  return all_gather().add(kLook, kPolls * ns(model_.poll)).times(2);
}

Terms ClosedForm::push() const { return Terms().add(kPosts, (nodes_ - 1) * ns(model_.post)); }

Terms ClosedForm::detection() const {
  Terms terms = push();
  add_flight(terms, kFlag);
  return terms;
}

Terms ClosedForm::all_to_all(std::uint32_t bytes) const {
  // The bytes, and their header, since bytes of one write may land in any order.
  Terms terms = push().times(2);
  const double others = (nodes_ - 2) * wire(bytes);
  terms.add(kBytes, std::max(0.0, others - terms.total()));
  if (bytes > kInline) terms.add(kFetch, ns(model_.fetch));
  add_flight(terms, bytes);
  return terms;
}

// A worker is busy with playouts for a share u of the time. A call that comes waits, as in a queue
// M/D/1, for u / (2 (1 - u)) playouts. By Little's law there are under way for each worker
//
//     window = u (1 + calls (flight / playout + u / (2 (1 - u))))
//
// which is an equation of the second degree.
Terms ClosedForm::rollout(std::uint32_t window, double calls,
                          std::chrono::nanoseconds playout) const {
  Terms terms;
  terms.add(kPosts, ns(model_.post));
  add_flight(terms, kMessage);
  terms.times(calls).add("playout", ns(playout));
  const double alone = terms.total() / ns(playout);
  const double a = calls / 2 - alone;
  const double b = alone + window;
  const double root = std::sqrt(b * b + 4 * a * window);
  // The form that holds for a = 0, too.
  const double busy = 2 * window / (b + root);
  terms.add("waits", ns(playout) * window / busy - terms.total());
  return terms.times(1 / (window * nodes_));
}

}  // namespace scale
