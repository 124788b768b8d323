// SPDX-License-Identifier: MIT
// A simulated queue pair: the life of its requests, from the post to the completion.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/events.hpp"
#include "sim/fifo.hpp"
#include "sim/queues.hpp"

namespace dtutils::sim {

class SimDevice;
class World;

/// `vendor_err` of completions.
enum VendorError : std::uint32_t {
  kNoVendorError = 0,
  /// The peer did not acknowledge the request, as often as it was sent.
  kNoAnswer = 0x201,
};

struct Request {
  ibv_send_wr work{};
  std::vector<ibv_sge> elements;
  /// What leaves, or the answer.
  std::vector<std::byte> bytes;
  std::uint64_t length = 0;
  std::uint64_t position = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint32_t vendor_error = kNoVendorError;
  bool done = false;
  /// Times that it was not acknowledged, and that the receiver was not ready.
  unsigned unanswered = 0;
  unsigned not_ready = 0;
  /// It was lost, or answered "not ready", by chance: each at most once.
  bool was_lost = false;
  bool was_refused = false;
  /// Half of it has landed.
  bool torn = false;
  std::uint64_t order = 0;
  /// In a trace.
  std::uint64_t arrow = 0;
};

/// Requests are posted, issued by the own adapter, arrive and land at the peer's, are executed
/// there, and are answered, each in the order of the posts:
///
///     answered <= executed <= landed <= arrived <= issued <= posted
///
/// One that cannot be executed blocks those behind it until it is sent again. A request is complete
/// when it and all before it are done.
class QueuePair {
 public:
  QueuePair(SimDevice& device, const ibv_qp_init_attr& attributes, std::uint32_t pd);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  ~QueuePair();

  int post_send(ibv_send_wr* request, ibv_send_wr** bad) noexcept;
  int post_receive(ibv_recv_wr* request, ibv_recv_wr** bad) noexcept;
  /// A completion was polled that gives back what lies below.
  void retire(std::uint64_t position) noexcept {
    if (position > retired_) retired_ = position;
  }
  void happen(Happening what, std::uint64_t epoch) noexcept;

  ibv_qp_state state() const noexcept { return state_; }
  void modify(ibv_qp_attr& attributes, int mask);
  /// Takes the pair to the error state and flushes what it holds; the first request that fails from
  /// now on gets `first`. `asked`: by its owner, which is no fault.
  void break_off(ibv_wc_status first, bool asked = false) noexcept;
  /// Both ends know each other, and the pair is ready to send.
  bool connected() noexcept { return state_ == IBV_QPS_RTS && peer() != nullptr; }

  /// First member, so that it is found again from the ibv_qp that was handed out.
  ibv_qp verbs{};

 private:
  enum class Outcome : std::uint8_t { kDone, kFailed, kNotReady, kNoAnswer, kTorn };

  Request& at(std::uint64_t position) noexcept { return requests_[position - completed_]; }
  int post_one(const ibv_send_wr& request) noexcept;
  void kick() noexcept;
  void issue() noexcept;
  void arrive() noexcept;
  void execute_landed() noexcept;
  void rest() noexcept;
  void settle(Request& request, Outcome outcome) noexcept;
  Time bring_back(const Request& request) noexcept;
  void answer() noexcept;
  void complete_done() noexcept;
  void complete(const Request& request, ibv_wc_status status) noexcept;
  void flush_receives() noexcept;
  void reset() noexcept;

  // execute.cpp: at the peer.
  QueuePair* peer() noexcept;
  Outcome execute(Request& request) noexcept;
  static Outcome refuse(Request& request, QueuePair& target, ibv_wc_status status) noexcept;
  Outcome write(Request& request, QueuePair& target) noexcept;
  Outcome read(Request& request, QueuePair& target) noexcept;
  Outcome change(Request& request, QueuePair& target) noexcept;
  Outcome message(Request& request, QueuePair& target) noexcept;
  ibv_wc_status scatter(const Request& request, const Receive& receive, QueuePair& target) noexcept;
  enum class Part : std::uint8_t { kAll, kFirst, kSecond };
  void place(const Request& request, Part part) noexcept;
  Outcome execute_rest(Request& request) noexcept;
  /// Whether this side grants the access to its peer.
  bool lets(const Request& request, std::uint64_t length, std::uint32_t access) const noexcept;
  bool may_use(const Request& request, bool to_write) noexcept;

  // tracing.cpp: what a trace shows, if there is one.
  void show(std::string_view kind, std::string_view what) noexcept;
  void show_post(Request& request, Time begin) noexcept;
  void show_outcome(const Request& request, Outcome outcome) noexcept;
  void show_answer(const Request& request) noexcept;
  Node& other_node() noexcept;

  Time round_trip_part() noexcept;
  void schedule(Time at, Happening what) noexcept;

  SimDevice& device_;
  World& world_;
  const std::uint32_t serial_;
  const std::uint32_t pd_;
  const std::uint32_t send_depth_;
  const std::uint32_t max_sge_;
  const std::uint32_t max_inline_;
  const bool signal_all_;
  CompletionQueue& send_completions_;
  CompletionQueue& receive_completions_;
  ReceiveQueue own_receives_;
  ReceiveQueue* const receives_;

  ibv_qp_state state_ = IBV_QPS_RESET;
  ibv_qp_attr given_{};
  ibv_wc_status next_failure_ = IBV_WC_WR_FLUSH_ERR;
  std::uint32_t vendor_error_ = kNoVendorError;
  /// Events of older ones are of a connection that is over.
  std::uint64_t epoch_ = 0;
  /// Which connection of the peer may act on this pair: none before its first request.
  std::uint64_t heard_ = 0;
  std::uint64_t connection_ = 0;
  /// Its first request.
  std::uint64_t first_ = 0;

  Fifo<Request> requests_;
  // Positions in the send queue; they never go back.
  std::uint64_t posted_ = 0;
  std::uint64_t issued_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t landed_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t retired_ = 0;
  /// The next request cannot be executed yet.
  bool blocked_ = false;
  /// Before the request that was not ready is sent again.
  Time rnr_time_ = 0;
  /// A request failed here before it was sent; those behind it stay.
  bool halted_ = false;
  /// READs and atomics on their way, and issues that wait for them.
  unsigned answers_due_ = 0;
  unsigned stalled_ = 0;
  // No event of a kind comes before the one before.
  Time last_issue_ = 0;
  Time last_arrival_ = 0;
  Time last_answer_ = 0;
};

inline QueuePair& from_verbs(ibv_qp* qp) noexcept { return *reinterpret_cast<QueuePair*>(qp); }

}  // namespace dtutils::sim
